#!/bin/sh
# lib.sh: what the tests of the command line share. A test begins with
#
#   here=$(dirname "$0")
#   . "$here/lib.sh"
#
# and ends with `finish`. It is given the program ($1) and the folder of models ($2); they become $shohin and $models, and
# a folder of its own, removed at the end, becomes $scratch. The program does not see the caller's SHOHIN_MODEL.

shohin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
# shellcheck disable=SC2034 # for the tests
models=$(cd "$2" && pwd)
# where the build puts it: beside the program
json_check=${JSON_CHECK:-$(dirname "$shohin")/json_check}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
checks=0
unset SHOHIN_MODEL

# say WHAT: a check failed.
fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
}

# Runs the program with the arguments given; standard input is what stands before the call. Afterwards $status holds the
# exit status, and $scratch/out and $scratch/err what it printed.
run() {
    status=0
    "$shohin" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    last="shohin $*"
}

# The file's text, its final line ends too, which $(...) would drop.
text_of() {
    text=$(cat "$1" && printf x)
    printf '%s' "${text%x}"
}

expect_status() {
    checks=$((checks + 1))
    [ "$status" -eq "$1" ] || fail "$last: exit status $status, expected $1; standard error: $(cat "$scratch/err")"
}

# equal WHAT GOT EXPECTED
equal() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: got <$2>, expected <$3>"
}

# The whole of standard output or standard error, final line ends apart.
expect_stdout() {
    equal "$last: standard output" "$(cat "$scratch/out")" "$1"
}

expect_stderr() {
    equal "$last: standard error" "$(cat "$scratch/err")" "$1"
}

# expect_in FILE TEXT: FILE of $scratch holds TEXT.
expect_in() {
    checks=$((checks + 1))
    case $(cat "$scratch/$1") in
    *"$2"*) ;;
    *) fail "$last: $1 does not hold <$2> but <$(cat "$scratch/$1")>" ;;
    esac
}

# Standard error is one line that begins as every failure does.
expect_one_line() {
    checks=$((checks + 1))
    if [ "$(wc -l <"$scratch/err")" -ne 1 ] || ! grep -q '^shohin: ' "$scratch/err"; then
        fail "$last: standard error is not one line 'shohin: ...' but <$(cat "$scratch/err")>"
    fi
}

# same FILE FILE WHAT: the bytes are the same, and there are some.
same() {
    checks=$((checks + 1))
    [ -s "$scratch/$1" ] || fail "$3: $1 is empty"
    cmp -s "$scratch/$1" "$scratch/$2" || fail "$3: <$(cat "$scratch/$1")> differs from <$(cat "$scratch/$2")>"
}

# json PATH: the value at PATH (names and indices with dots between) in $scratch/out, which must be one valid JSON object.
json() {
    "$json_check" "$@" <"$scratch/out" || echo "(no valid JSON or no $1)"
}

expect_json() {
    checks=$((checks + 1))
    "$json_check" <"$scratch/out" >"$scratch/json" 2>&1 || fail "$last: $(cat "$scratch/json")"
}

finish() {
    if [ "$failures" -ne 0 ]; then
        echo "$failures of $checks checks failed"
        exit 1
    fi
    echo "$checks checks passed"
    exit 0
}
