#!/bin/sh
# check-header.sh: the public header compiles alone, as C11 and as C++11, without a warning:
# `tools/check-header.sh shohin.h`. C++ is left out, with status 77, where no C++ compiler is.
set -eu
header=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compiles() {
    "$@" -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$(dirname "$header")" "$source"
}

# Twice, so that the guard is tested too.
source=$scratch/alone.c
printf '#include "shohin.h"\n#include "shohin.h"\nint main(void) { return sh_version() == 0; }\n' >"$source"
tried=0
for compiler in cc gcc clang; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    compiles "$compiler" -std=c11 -Wstrict-prototypes || exit 1
    tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || {
    echo "check-header.sh: no C compiler" >&2
    exit 1
}

source=$scratch/alone.cc
printf '#include "shohin.h"\n#include "shohin.h"\nint main() { return sh_version() == nullptr; }\n' >"$source"
tried=0
for compiler in c++ g++ clang++; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    compiles "$compiler" -std=c++11 || exit 1
    tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || {
    echo "check-header.sh: no C++ compiler here; as C11 the header is fine"
    exit 77
}
