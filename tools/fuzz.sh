#!/bin/sh
# fuzz.sh: runs every fuzzer for a while: `tools/fuzz.sh [NAME...]`, all of them if none is named.
#
# FUZZ_SECONDS  for each (60)
# FUZZ_SEED     of the random changes: a new one each time unless given; printed
#
# Each starts from a copy of its seeds (tests/fuzz/corpus/NAME), so that the tree stays as it was. What a fuzzer found
# is kept in build/fuzz/found/NAME/, and the command that shows it again is printed; the run then fails.
set -eu
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
seed=${FUZZ_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
programs=build/fuzz/bin
found=build/fuzz/found
[ -d "$programs" ] || {
    echo "fuzz.sh: $programs is absent: run 'sh tools/build.sh fuzz' first" >&2
    exit 1
}
if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        [ -e "$source" ] || continue
        name=${source##*/fuzz_}
        set -- "$@" "${name%.c}"
    done
fi
[ $# -gt 0 ] || {
    echo "fuzz.sh: there is no fuzzer (tests/fuzz/fuzz_*.c)" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One fuzzer; its log is shown whole if it fails, else its last line of numbers.
one() {
    name=$1
    mkdir -p "$work/$name/corpus" "$found/$name"
    if [ -d "tests/fuzz/corpus/$name" ]; then
        cp -R "tests/fuzz/corpus/$name/." "$work/$name/corpus/"
    fi
    set -- -max_total_time="$seconds" -seed="$seed" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="$found/$name/"
    if [ -f "tests/fuzz/$name.dict" ]; then
        set -- "$@" -dict="tests/fuzz/$name.dict"
    fi
    if "$programs/fuzz_$name" "$@" "$work/$name/corpus" >"$work/$name/log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name/log")
        [ "${runs:-0}" -gt 0 ] && {
            echo "fuzz_$name: $runs runs in $seconds s, nothing found"
            rmdir "$found/$name" 2>/dev/null || true
            return 0
        }
    fi
    tail -n 60 "$work/$name/log"
    echo "fuzz_$name: FAILED (seed $seed). Again with: $programs/fuzz_$name $found/$name/FILE"
    return 1
}

echo "fuzzing $# programs for $seconds s each, $jobs at a time, seed $seed"
: >"$work/failed"
running=0
for name; do
    { one "$name" || echo "$name" >>"$work/failed"; } &
    running=$((running + 1))
    if [ "$running" -eq "$jobs" ]; then
        wait
        running=0
    fi
done
wait
if [ -s "$work/failed" ]; then
    echo "fuzz.sh: failed: $(tr '\n' ' ' <"$work/failed")" >&2
    exit 1
fi
