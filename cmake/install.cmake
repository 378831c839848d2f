# What `cmake --install` lays down: the program, both libraries, the header, shohin.pc, the manual page and completions, the
# demo model, the license and the documents.

install(TARGETS shohin_static shohin_shared)
install(FILES include/shohin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET shohin)
  install(TARGETS shohin)
  foreach(file IN LISTS SHOHIN_GENERATED)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_BINARY_DIR}/share OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
  endforeach()
endif()

# The prefix in shohin.pc is found from the file's own place: `cmake --install --prefix` and a moved tree stay right.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(SHOHIN_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(SHOHIN_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
             OUTPUT_VARIABLE up)
  set(SHOHIN_PC_PREFIX "\${pcfiledir}/${up}")
  set(SHOHIN_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(SHOHIN_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(SHOHIN_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/shohin.pc.in shohin.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/shohin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES models/stories-q1_0.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/shohin/models OPTIONAL)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL FILES_MATCHING PATTERN "*.md")
install(FILES examples/complete.c examples/Makefile DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
