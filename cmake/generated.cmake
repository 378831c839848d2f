# What the program writes about itself (its manual page and shell completions, from the same option table as --help),
# and the demo model, laid under share/ of the build tree as they will be under share/ of the installed one.

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/shohin)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/models ${CMAKE_BINARY_DIR}/share/shohin/models SYMBOLIC)

set(SHOHIN_GENERATED)
function(shohin_generate what path)
  set(file ${CMAKE_BINARY_DIR}/share/${path})
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  # Through another name, so that a run that failed does not leave a file that looks made.
  add_custom_command(
    OUTPUT ${file}
    COMMAND shohin generate ${what} > ${file}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${file}.new ${file}
    DEPENDS shohin
    COMMENT "Writing ${path}"
    VERBATIM)
  list(APPEND SHOHIN_GENERATED ${file})
  set(SHOHIN_GENERATED ${SHOHIN_GENERATED} PARENT_SCOPE)
endfunction()

if(TARGET shohin)
  shohin_generate(man man/man1/shohin.1)
  shohin_generate(bash bash-completion/completions/shohin)
  shohin_generate(zsh zsh/site-functions/_shohin)
  shohin_generate(fish fish/vendor_completions.d/shohin.fish)
  add_custom_target(shohin_generated ALL DEPENDS ${SHOHIN_GENERATED})
endif()
