#!/bin/sh
# test.sh: runs a test preset with as many tests at a time as there are cores: `tools/test.sh PRESET [ctest options]`.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
jobs=${JOBS:-$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
# Tests that run make must not take this make's options and job server for theirs.
unset MAKEFLAGS MFLAGS MAKELEVEL
# ThreadSanitizer's shadow memory does not fit the wide random layout of newer kernels.
if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
    exec setarch "$(uname -m)" -R ctest --preset "$preset" --parallel "$jobs" "$@"
fi
exec ctest --preset "$preset" --parallel "$jobs" "$@"
