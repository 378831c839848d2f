#!/bin/sh
# `shohin run`: where the text comes from, that the same command gives the same text however it is computed, and what is told.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
export SHOHIN_MODEL="$models/stories-q1_0.gguf"
start='Once upon a time'

# ---- the same text
run run "$start" -n 6 --seed 7
expect_status 0
expect_stderr ''
cp "$scratch/out" "$scratch/text"
for how in '' '-t 1' '-t 2' '-b 1' '-b 3' '-b 64' '-c 64'; do
    # shellcheck disable=SC2086 # options
    run run "$start" -n 6 --seed 7 $how
    expect_status 0
    same text out "seed 7 with <$how>"
done
run run "$start" -n 6 --temp 0
expect_status 0
expect_stderr '' # nothing is drawn: there is no seed to tell
cp "$scratch/out" "$scratch/greedy"
run run "$start" -n 6 --temp 0 --seed 9 -b 2 -t 1
same greedy out 'temperature 0, another seed'
run run "$start" -n 6 --top-k 1 --seed 3
same greedy out 'top-k 1'

# a seed that was drawn is told, and gives the text again
run run "$start" -n 6
expect_status 0
checks=$((checks + 1))
seed=$(sed -n 's/^shohin: seed \([0-9]*\); --seed \1 gives this text again$/\1/p' "$scratch/err")
[ -n "$seed" ] || fail "no seed was told: <$(cat "$scratch/err")>"
cp "$scratch/out" "$scratch/text"
run run "$start" -n 6 --seed "$seed"
same text out "seed $seed, drawn and given"
run run "$start" -n 1 --log-level error
expect_stderr ''

# ---- where the text comes from
run run Once upon a time -n 6 --temp 0
same greedy out 'words'
run run -p "$start" -n 6 --temp 0
same greedy out '-p'
printf '%s' "$start" >"$scratch/prompt"
run run -f "$scratch/prompt" -n 6 --temp 0
same greedy out '-f'
printf '%s\n' "$start" >"$scratch/prompt"
run run -f "$scratch/prompt" -n 6 --temp 0
same greedy out 'a final line end'
printf '%s\r\n' "$start" >"$scratch/prompt"
run run -f "$scratch/prompt" -n 6 --temp 0
same greedy out 'a final line end of two bytes'
for how in '' '-' '-f -'; do
    # shellcheck disable=SC2086 # options
    run run $how -n 6 --temp 0 <"$scratch/prompt"
    same greedy out "standard input by <$how>"
done
printf '%s\n\n' "$start" >"$scratch/prompt"
run run -f "$scratch/prompt" -n 1 --temp 0 --json
equal 'only one line end is dropped' "$(json prompt_ids.#)" 6
run run -p "$start
" -n 1 --temp 0 --json
equal '-p is taken as it is' "$(json prompt_ids.#)" 6
run run -p '' -n 2 --temp 0 --json
equal 'an empty text starts from BOS' "$(json prompt_ids)" '[0]'
run run -n 2 --temp 0 --json </dev/null
equal 'so does an empty standard input' "$(json prompt_ids)" '[0]'
run run -p '' --no-bos -n 2
expect_status 1
expect_stderr 'shohin: the text is empty, and --no-bos leaves nothing to start from; give some text'
run run -p '<|im_end|>' -n 1 --temp 0 --json
checks=$((checks + 1))
[ "$(json prompt_ids.#)" -gt 2 ] || fail "a control token's name in a text became the token"
run run -p '<|im_end|>' --special -n 1 --temp 0 --json
equal '--special' "$(json prompt_ids)" '[0,2]'
if command -v script >/dev/null 2>&1; then
    checks=$((checks + 1))
    script -qec "'$shohin' run" /dev/null </dev/null >"$scratch/out" 2>&1
    grep -q "^shohin: no text: give one, as in shohin run \"Once upon a time\", or -f FILE, or pipe it in; see 'shohin run --help'" \
        "$scratch/out" || fail "without a text on a terminal: <$(cat "$scratch/out")>"
fi

# ---- what is printed
run run "$start" -n 6 --temp 0 --echo
expect_status 0
equal '--echo' "$(text_of "$scratch/out")" "$start$(text_of "$scratch/greedy")"
equal 'a line end at the end' "$(tail -c 1 "$scratch/out" | od -An -tx1 | tr -d ' ')" 0a
run run "$start" -n 0
expect_status 0
equal 'no tokens, no text' "$(wc -c <"$scratch/out" | tr -d ' ')" 0
printf 'a\377b' >"$scratch/prompt"
run run -f "$scratch/prompt" -n 0 --echo
equal 'what is no UTF-8 is replaced' "$(od -An -tx1 "$scratch/out" | tr -d ' \n')" 61efbfbd620a

run run "$start" -n 6 --temp 0 --json
expect_status 0
expect_json
expect_stderr ''
equal 'the text in JSON' "$(json text)" "$(cat "$scratch/greedy")"
equal 'the prompt' "$(json prompt_ids)" '[0,533,507,261,436]'
equal 'tokens' "$(json ids.#)" 6
equal 'reason' "$(json reason)" limit
equal 'counts' "$(json timings.prompt_tokens) $(json timings.generated_tokens)" '5 6'
equal 'no seed without a draw' "$("$json_check" seed <"$scratch/out")" null
ids=$(json ids)
run tokenize --ids "$ids"
same greedy out 'the ids in JSON are those of the text'
run run "$start" -n 2 --json
expect_json
seed=$(json seed)
ids=$(json ids)
run run "$start" -n 2 --json --seed "$seed"
equal 'the seed in JSON' "$(json ids)" "$ids"

run run "$start" -n 3 --temp 0 --stats
expect_status 0
for line in 'load        ' 'prompt      5 tokens, ' 'generation  2 tokens, ' 'sampling    none' 'passes      3 (7 rows, 3 through the head), ' \
    'KV pages    1 in use, 0 copied' 'end         limit'; do
    checks=$((checks + 1))
    grep -q -F "$line" "$scratch/err" || fail "--stats does not tell <$line>: <$(cat "$scratch/err")>"
done
run run "$start" -n 3 --seed 5 --stats --json
equal 'counters in JSON' "$(json stats.rows)" 7

# ---- how it ends
run run "$start" -c 8 --temp 0 --ignore-eos --json
expect_status 0
equal 'a full context' "$(json reason)" context
equal 'is used to the last' "$(json ids.#)" 4
expect_stderr 'shohin: the context is full: 5 tokens of prompt and 4 of text; -c makes room for more'
run run "$start" -c 4
expect_status 1
expect_stdout ''
expect_one_line
expect_in err 'prompt of 5 tokens'
expect_in err 'context of 4 '
run run -p '<|im_end|>' --special --no-bos -c 3 -n 1 --temp 0 --json # one token of prompt
expect_status 0
equal 'the shortest prompt' "$(json prompt_ids)" '[2]'

finish
