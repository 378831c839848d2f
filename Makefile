# The short ways in. Each is a thin front on the CMake presets (CMakePresets.json) and ctest: nothing is built by make.
#
# INSTALL=no|yes      packages that are missing: name them and stop, or install them without a question
# PREFIX=/usr/local   where `make install` puts things; DESTDIR is honoured
# JOBS=N              processes at a time; as many as there are cores
# FUZZ_SECONDS=60     for each fuzzer of `make check-full`

.SILENT:

# Exported and read by the shell, so that a quote in a prompt or a blank in a path needs no care.
export PREFIX = /usr/local
export PROMPT = Once upon a time

.PHONY: help demo build check check-full install clean format

help:
	echo 'make demo          build shohin and have the demo model tell a story'
	echo 'make check         build and test: a few minutes'
	echo 'make check-full    check, then sanitizers, clang, fuzzers, other programs as oracles, style: half an hour'
	echo 'make build         build only: build/release/bin/shohin'
	echo 'make install       install to PREFIX ($(PREFIX))'
	echo 'make format        lay out the sources (clang-format 14)'
	echo 'make clean         remove what was built'
	echo
	echo 'Packages that are missing are installed with apt-get, on a terminal after a question.'
	echo 'INSTALL=no only names them, INSTALL=yes does not ask.'

build:
	sh tools/packages.sh build
	sh tools/build.sh release shohin

demo: build
	build/release/bin/shohin run -p "$$PROMPT" -n 200 --echo --stats

check:
	sh tools/packages.sh build test
	sh tools/build.sh check
	sh tools/stage.sh 'tests' sh tools/test.sh check

check-full: check
	sh tools/packages.sh build test full
	sh tools/check-full.sh

install:
	sh tools/packages.sh build
	sh tools/build.sh release shohin shohin_static shohin_shared shohin_generated
	cmake --install build/release --prefix "$$PREFIX"

format:
	sh tools/check-format.sh --fix

clean:
	rm -rf build
