#!/bin/sh
# `shohin tokenize`: both directions, what is no UTF-8, control tokens, JSON.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
export SHOHIN_MODEL="$models/stories-q1_0.gguf"

run tokenize 'Once upon a time'
expect_status 0
expect_stdout '      0  <|endoftext|>
    533  "Once"
    507  " upon"
    261  " a"
    436  " time"'
expect_stderr ''
run tokenize --no-bos 'say "\"' # quotes and backslashes of a piece are told from its frame
expect_status 0
equal 'quotes and backslashes' "$(sed 's/^ *[0-9]*  "//; s/"$//' "$scratch/out" | tr -d '\n')" 'say \"\\\"'
run tokenize 'Once upon a time' --json
expect_status 0
expect_stdout '{"ids":[0,533,507,261,436],"pieces":["<|endoftext|>","Once"," upon"," a"," time"]}'
expect_json
run tokenize -p '' --no-bos --json
expect_stdout '{"ids":[],"pieces":[]}'
run tokenize -p ''
expect_stdout '      0  <|endoftext|>'

# every byte of a file counts, its last line end too
printf 'Once\n' >"$scratch/text"
run tokenize -f "$scratch/text" --no-bos --json
equal 'a final line end' "$(json ids.#)" 2
run tokenize --no-bos --json - <"$scratch/text"
equal 'a final line end of standard input' "$(json ids.#)" 2
run tokenize --no-bos <"$scratch/text"
expect_in out '"\n"'

# a text and back, byte for byte
printf 'Tab\there, "quotes", \303\251t\303\251 \360\237\231\202 and zero \0 end.\n' >"$scratch/text"
run tokenize -f "$scratch/text" --json
expect_status 0
expect_json
ids=$(json ids)
run tokenize --ids "$ids"
expect_status 0
same text out 'a text and back'
run tokenize -f "$models/stories-sample.txt" --json
expect_json
json ids >"$scratch/ids"
if [ "$(wc -c <"$scratch/ids")" -lt 100000 ]; then # as long as an argument may be
    run tokenize --ids "$(cat "$scratch/ids")"
    cp "$models/stories-sample.txt" "$scratch/text"
    same text out 'the sample and back'
fi

# pieces that are no UTF-8: U+FFFD, and all bytes in hexadecimal beside them
printf '\360\237\231\202' >"$scratch/text"
run tokenize -f "$scratch/text" --no-bos --json
expect_json
n=$(json ids.#)
equal 'as many pieces' "$(json pieces.#)" "$n"
equal 'as many bytes' "$(json bytes.#)" "$n"
equal 'the bytes' "$(json bytes | tr -d '[]",')" f09f9982
run tokenize -f "$scratch/text" --no-bos
expect_in out '\x'
run tokenize Once --json
equal 'no bytes without need' "$("$json_check" bytes <"$scratch/out")" null

# control tokens
run tokenize '<|im_end|>' --no-bos --json
checks=$((checks + 1))
[ "$(json ids.#)" -gt 1 ] || fail "a control token's name in a text became the token"
run tokenize '<|im_end|>x' --special --no-bos
expect_in out '      2  <|im_end|>'
run tokenize --ids 2,533
expect_stdout Once
run tokenize --ids 2,533 --special
expect_stdout '<|im_end|>Once'
run tokenize --ids '[2, 533]' --special --json
expect_stdout '{"ids":[2,533],"pieces":["<|im_end|>","Once"],"text":"<|im_end|>Once"}'
for list in '2 533' '[2,533]' ' 2 , 533 ' '[ 2 533 ]'; do
    run tokenize --ids "$list"
    expect_status 0
    expect_stdout Once
done

run tokenize --ids 533,999999
expect_status 1
expect_one_line
expect_in err 999999
run tokenize --ids 999999 --json
expect_status 1
expect_stdout ''

finish
