#!/bin/sh
# build.sh: configures a preset and builds it: `tools/build.sh PRESET [TARGET...]`.
#
# Only what CMake's presets can't say: Ninja if it is there (CMake's own default otherwise; a build folder keeps the
# generator it was made with), and as many jobs as there are cores (JOBS changes that). Quiet unless something fails.
set -eu
cd "$(dirname "$0")/.."

preset=$1
shift
if [ -z "${CMAKE_GENERATOR:-}" ] && command -v ninja >/dev/null 2>&1; then
    export CMAKE_GENERATOR=Ninja
fi
jobs=${JOBS:-$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "build.sh: 'cmake --preset $preset' failed" >&2
    exit 1
}
grep -A4 -i 'warning' "$log" >&2 || true
echo "building $preset" >&2
cmake --build --preset "$preset" --parallel "$jobs" ${1+--target} "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    echo "build.sh: building '$preset' failed" >&2
    exit 1
}
grep -A4 'warning:' "$log" >&2 || true
