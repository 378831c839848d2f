#!/bin/sh
# `shohin score`: against recorded values, against its own sums, and windows against the same tokens scored by hand.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
export SHOHIN_MODEL="$models/stories-q1_0.gguf"
text='Once upon a time, there was a little'

# ---- recorded values: tests/oracle/stories-q1_0.json, made by transformers in float32
run score "$text" --device ref --json
expect_status 0
expect_json
expect_stderr ''
equal 'ids' "$(json ids)" '[0,533,507,261,436,14,415,293,261,400]'
equal 'positions' "$(json positions.#)" 10
equal 'ten candidates' "$(json positions.3.top.#)" 10
# near WHAT GOT EXPECTED: within 1e-3
near() {
    checks=$((checks + 1))
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(a != "" && d < 1e-3 && d > -1e-3) }' || fail "$1: got $2, expected $3"
}
equal 'likeliest' "$(json positions.0.top.0.0) $(json positions.0.top.1.0) $(json positions.9.top.0.0)" '533 483 529'
near 'largest logit' "$(json positions.0.top.0.1)" 14.23008
near 'second' "$(json positions.0.top.1.1)" 12.23944
near 'lse' "$(json positions.0.lse)" 14.62789
near 'lse of position 5' "$(json positions.5.lse)" 13.5093
near 'next' "$(json positions.0.next_logprob)" -0.39781
equal 'the last has no next' "$("$json_check" positions.9.next_logprob <"$scratch/out")" null

# ---- its own sums
awk -F'"next_logprob":' '/next_logprob/ { split($2, v, /[},]/); x = -v[1]; n++; s += x; q += x * x }
    END { m = s / n; e = sqrt((q / n - m * m) * n / (n - 1) / n); printf "%.6f %.6f %.6f %.6f\n", m, exp(m), e, exp(m) * e }' \
    "$scratch/out" >"$scratch/sums"
# shellcheck disable=SC2046 # four numbers
set -- $(cat "$scratch/sums")
near 'nll' "$(json nll)" "$1"
near 'ppl' "$(json ppl)" "$2"
near 'standard error of nll' "$(json nll_stderr)" "$3"
near 'standard error of ppl' "$(json ppl_stderr)" "$4"
equal 'scored' "$(json scored) $(json windows)" '9 1'

# ---- the same bits however it is computed
run score "$text" --json
cp "$scratch/out" "$scratch/plain"
for how in '-b 1' '-b 3' '-b 64' '-t 1' '-t 2' '-c 10' '--stride 3'; do
    # shellcheck disable=SC2086 # options
    run score "$text" --json $how
    expect_status 0
    sed 's/"window":[0-9]*/"window":512/' "$scratch/out" >"$scratch/got"
    same plain got "score $how"
done
run score --ids '[0,533,507,261,436,14,415,293,261,400]' --json
same plain out 'ids instead of the text'
printf '%s' "$text" >"$scratch/text"
run score -f "$scratch/text" --json
same plain out 'the text from a file'
run score --json <"$scratch/text"
same plain out 'the text from standard input'
run score "$text" --json --top 2
equal '--top' "$(json positions.4.top.#)" 2
equal 'the same two' "$(json positions.4.top)" "$("$json_check" positions.4.top <"$scratch/plain" | sed 's/\(\],\[[^]]*\]\).*/\1]/')"
run score "$text" --json --top 0
equal '--top 0' "$(json positions.4.top)" '[]'
run score --ids 5 --json
expect_status 0
equal 'one token' "$(json positions.#) $("$json_check" nll <"$scratch/out")" '1 null'

# nine significant digits: a logit from 1 to 10 has eight behind the point (some end in a zero, which is not printed)
checks=$((checks + 1))
grep -Eq '[[,][1-9]\.[0-9]{8}[],]' "$scratch/plain" || fail "no number has nine digits: <$(cat "$scratch/plain")>"
checks=$((checks + 1))
! grep -Eq '[[,][1-9]\.[0-9]{9}' "$scratch/plain" || fail 'a number has more than nine digits'

# ties go to the lower id: the row of token 533 of the embedding, which is the head too, is given to tokens 100 and 600
tensor=134016 # offset of token_embd.weight, 512 / 128 blocks of 18 bytes a row
cp "$models/stories-q1_0.gguf" "$scratch/ties.gguf"
for twin in 100 600; do
    dd if="$models/stories-q1_0.gguf" bs=1 skip=$((tensor + 533 * 72)) count=72 2>/dev/null |
        dd of="$scratch/ties.gguf" bs=1 seek=$((tensor + twin * 72)) conv=notrunc 2>/dev/null
done
for n in 1 2 3; do
    run score -m "$scratch/ties.gguf" --ids 0 --json --top "$n"
    expect_status 0
    equal "the first $n of three that tie" "$(json positions.0.top | sed 's/,[0-9.]*\]/]/g' | tr -d '[]')" \
        "$(printf '100,533,600' | cut -c "1-$((4 * n - 1))")"
done

# ---- text
run score "$text"
expect_status 0
expect_in out 'tokens      10, 9 scored'
expect_in out 'windows     1 of 512 tokens'
expect_in out 'perplexity  1.'
equal 'totals only' "$(wc -l <"$scratch/out" | tr -d ' ')" 4
run score "$text" --top 1
equal 'two lines a position' "$(wc -l <"$scratch/out" | tr -d ' ')" 24
expect_in out '  533 "Once"'

# ---- windows. 10 ids, windows of 6 behind BOS, stride 2: rows 0-5, then 6-7 and 8-9, each behind BOS and three tokens.
position() {
    "$json_check" "positions.$1" <"$scratch/$2"
}
run score "$text" --json -c 6 --stride 2
expect_status 0
expect_json
equal 'positions of windows' "$(json positions.#) $(json scored) $(json windows) $(json window) $(json stride)" '10 9 3 6 2'
cp "$scratch/out" "$scratch/windows"
for row in 0 1 2 3 4 5; do
    equal "row $row of the first window" "$(position $row windows)" "$(position $row plain)"
done
run score --json --ids 0,261,436,14,415,293 # BOS, then tokens 3 to 7
cp "$scratch/out" "$scratch/second"
equal 'row 6' "$(position 6 windows | sed 's/,"next.*//')" "$(position 4 second | sed 's/,"next.*//')"
equal 'row 7' "$(position 7 windows | sed 's/,"next.*//')" "$(position 5 second | sed 's/}$//')"
run score --json --ids 0,14,415,293,261,400 # BOS, then tokens 5 to 9
cp "$scratch/out" "$scratch/third"
equal 'row 8' "$(position 8 windows)" "$(position 4 third)"
equal 'row 9' "$(position 9 windows)" "$(position 5 third)"
# without BOS: rows 0-5 of a window of six, then 6-8, each behind three tokens
run score --json --ids 533,507,261,436,14,415,293,261,400 -c 6
cp "$scratch/out" "$scratch/windows"
equal 'half a window unless told' "$(json stride) $(json windows)" '3 2'
run score --json --ids 436,14,415,293,261,400
cp "$scratch/out" "$scratch/second"
for row in 6 7 8; do
    equal "row $row without BOS" "$(position $row windows)" "$(position $((row - 3)) second)"
done
run score "$text" --json -c 6 --stride 5 -b 2
expect_status 0
equal 'windows side by side' "$(json positions.#) $(json windows)" '10 2'
run score "$text" -c 6 --stride 6
expect_status 1
expect_stderr 'shohin: --stride 6: a window has room for 5 tokens behind BOS; give a smaller stride or a larger context (-c)'
run score "$text" -c 1
expect_status 1
expect_stderr 'shohin: a context of 1 token leaves no room behind BOS for a text of 10; make it larger (-c)'
run score --ids 533,507 -c 1 --json # each token alone
expect_status 0
equal 'windows of one token' "$(json positions.#) $(json scored)" '2 1'

# ---- failures
run score -p '' --no-bos
expect_status 1
expect_stderr 'shohin: the text is empty: there is nothing to score'
run score --ids 5,4096
expect_status 1
expect_stderr "shohin: --ids: token 1 is 4096, and the model's are 0 to 4095"

finish
