#!/bin/sh
# check-full.sh: what `make check-full` does beyond `make check`, stage by stage.
#
#   tools/check-full.sh [STAGE...]     all of them if none is named
#
# A stage that fails does not keep the others from running; the times and what failed stand at the end.
set -u
cd "$(dirname "$0")/.." || exit 1

all='style long gcc clang asan tsan memcheck fuzz oracles'

# Nothing may be skipped here: status 77 is a failure like any other.
stage_style() {
    sh tools/check-format.sh && sh tools/check-includes.sh && sh tools/check-files.sh && sh tools/check-scripts.sh &&
        sh tools/check-header.sh include/shohin.h && sh tools/check-generated.sh build/release/share
}

stage_long() { sh tools/test.sh long; }
stage_gcc() { sh tools/build.sh werror-gcc; }
stage_clang() { sh tools/build.sh werror-clang && sh tools/test.sh werror-clang; }
stage_asan() { sh tools/build.sh asan && sh tools/test.sh asan; }
stage_tsan() { sh tools/build.sh tsan && sh tools/test.sh tsan; }
stage_fuzz() { sh tools/build.sh fuzz && sh tools/fuzz.sh; }

# Values that were never set: neither sanitizer sees them.
stage_memcheck() {
    shohin=build/release/bin/shohin
    for command in "run -p Once -n 4 --temp 0 -t 2" "tokenize Once" "info"; do
        echo "valgrind: shohin $command"
        # shellcheck disable=SC2086 # words
        valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
            "$shohin" $command >/dev/null || return 1
    done
}

# Other programs' answers to the same questions, from npm.
stage_oracles() { sh tests/crosscheck/run.sh build/release; }

# shellcheck disable=SC2086 # words
[ $# -gt 0 ] || set -- $all
summary='' failed=''
for stage; do
    case " $all " in
    *" $stage "*) ;;
    *)
        echo "check-full.sh: no stage is called '$stage'; there are: $all" >&2
        exit 2
        ;;
    esac
done
for stage; do
    printf '==== %s\n' "$stage"
    begun=$(date +%s)
    if "stage_$stage"; then result=passed; else result=FAILED failed="$failed $stage"; fi
    line=$(printf '%-10s %s in %d s' "$stage" "$result" $(($(date +%s) - begun)))
    printf '==== %s\n' "$line"
    summary="$summary$line
"
done
printf '\n%s' "$summary"
[ -z "$failed" ] || {
    echo "check-full.sh: failed:$failed" >&2
    exit 1
}
