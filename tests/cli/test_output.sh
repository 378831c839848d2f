#!/bin/sh
# Standard output that cannot be written, a reader that goes away, an interrupt.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
export SHOHIN_MODEL="$models/stories-q1_0.gguf"

# ---- a full disk
if [ -c /dev/full ]; then
    full() {
        status=0
        "$shohin" "$@" >/dev/full 2>"$scratch/err" || status=$?
        last="shohin $* >/dev/full"
        expect_status 1
        expect_stderr 'shohin: writing standard output: No space left on device'
    }
    full --help
    full version
    full run Once -n 2 --temp 0
    full run Once -n 2 --temp 0 --json
    full info
    full info --json
    full tokenize Once
    full tokenize --ids 1,5
    full tokenize Once --json
    full score Once upon
    full score Once upon --json
    full generate man
fi

# ---- none at all
status=0
last='shohin tokenize Once >&-'
"$shohin" tokenize Once >&- 2>"$scratch/err" || status=$?
expect_status 1
expect_stderr 'shohin: writing standard output: Bad file descriptor'
status=0
last='shohin tokenize Once 2>&-'
"$shohin" tokenize Once >"$scratch/out" 2>&- || status=$?
equal "$last" "$status" 0
equal "$last" "$(wc -l <"$scratch/out" | tr -d ' ')" 2
status=0
last='shohin tokenize <&-'
"$shohin" tokenize <&- >"$scratch/out" 2>"$scratch/err" || status=$?
expect_status 1
expect_stderr 'shohin: reading standard input: Bad file descriptor'

# ---- a reader that has what it wanted: the program ends by SIGPIPE, without a word, soon
gone() {
    last="shohin $* | head -c 1"
    rm -f "$scratch/status"
    {
        status=0
        "$shohin" "$@" 2>"$scratch/err" || status=$?
        echo "$status" >"$scratch/status"
    } | head -c 1 >/dev/null
    while [ ! -s "$scratch/status" ]; do sleep 0.1; done
    equal "$last" "$(cat "$scratch/status")" 141
    expect_stderr ''
}
gone run Once upon a time --temp 0 --ignore-eos
gone run Once upon a time --seed 1 --ignore-eos
gone tokenize -f "$models/stories-sample.txt"
(
    trap '' PIPE # as the parents of some services do
    gone run Once upon a time --temp 0 --ignore-eos
    exit "$failures"
) || failures=$((failures + 1))

# ---- an interrupt: the text so far, a line end, what belongs to it, and an end by SIGINT
if env --default-signal=INT true 2>/dev/null; then # a shell's background jobs ignore it
    interrupted() {
        last="shohin $* and an interrupt"
        : >"$scratch/out"
        env --default-signal=INT "$shohin" "$@" >"$scratch/out" 2>"$scratch/err" &
        process=$!
    }
    wait_for_end() {
        status=0
        wait "$process" || status=$?
        expect_status 130
    }
    interrupted run Once upon a time -c 1000 --seed 4 --ignore-eos --stats
    while [ ! -s "$scratch/out" ] && kill -0 "$process" 2>/dev/null; do sleep 0.1; done
    kill -INT "$process"
    wait_for_end
    equal "$last: a line end at the end" "$(tail -c 1 "$scratch/out" | od -An -tx1 | tr -d ' ')" 0a
    expect_in err 'sampling    seed 4, '
    expect_in err 'end         cancelled'
    # what was printed is how the whole text begins
    cp "$scratch/out" "$scratch/part"
    drawn=$(sed -n 's/^generation  \([0-9]*\) tokens.*/\1/p' "$scratch/err")
    run run Once upon a time -c 1000 --seed 4 --ignore-eos -n $((${drawn:-0} + 1))
    same part out 'the text before an interrupt'

    interrupted run Once upon a time -c 1000 --temp 0 --ignore-eos --json
    sleep 2
    kill -INT "$process"
    wait_for_end
    if [ -s "$scratch/out" ]; then # else it came before the first pass
        expect_json
        equal "$last: reason" "$(json reason)" cancelled
    fi
else
    echo 'env has no --default-signal: interrupts were not tested'
fi

finish
