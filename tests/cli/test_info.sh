#!/bin/sh
# `shohin info`: of files that run, of one that is read another way than its number says, and of one that cannot be run.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

run info "$models/stories-q1_0.gguf"
expect_status 0
expect_stderr ''
for line in 'container        GGUF version 3, 1 part, 22 metadata keys' 'size             3.82 MiB (4006784 bytes)' \
    'architecture     qwen3' 'parameters       27272704' 'bits per weight  1.1360' \
    'formats          Q1_0: 57 tensors, 3833856 bytes' '                 F32: 33 tensors, 38912 bytes' \
    'tokenizer        4096 tokens, BOS 0 (put in front), a text ends by 0, 2' \
    'network          8 layers, hidden 512, FFN 1536, 8 heads of 64, 4 KV heads' \
    'vocabulary       4096, the head is the embedding' 'context          512 tokens'; do
    checks=$((checks + 1))
    grep -Fqx "$line" "$scratch/out" || fail "$last: no line <$line> in <$(cat "$scratch/out")>"
done
checks=$((checks + 1))
! grep -q '^type 42' "$scratch/out" || fail "a file without type 42 was given a layout of it"
cp "$scratch/out" "$scratch/by_word"
run info -m "$models/stories-q1_0.gguf"
grep -v '^free memory' "$scratch/by_word" >"$scratch/a"
grep -v '^free memory' "$scratch/out" >"$scratch/b"
same a b 'FILE and -m FILE'

run info "$models/stories-q1_0.gguf" -c 100 -t 1 --device ref
expect_status 0
expect_in out "context          100 tokens, the file's is 512"
expect_in out 'device           ref, 1 thread'
run info "$models/stories-q1_0.gguf" --rope-scaling yarn --yarn-factor 4 --yarn-orig-ctx 128 --json
expect_status 0
equal 'YaRN' "$(json network.rope.scaling) $(json network.rope.factor) $(json network.rope.original_context)" 'yarn 4 128'

run info "$models/stories-q1_0.gguf" --tensors
expect_status 0
equal 'a line for each tensor' "$(grep -c ' bytes at ' "$scratch/out")" 90
expect_in out 'blk.7.ffn_down.weight'
run info "$models/stories-q1_0.gguf" --metadata
expect_status 0
equal 'a line for each key' "$(grep -c ' = ' "$scratch/out")" 22
expect_in out 'general.architecture = qwen3'

for layout in g64:64:Q2_0 g128:128:Q2_0_G128; do
    file=$models/stories-q2_0_${layout%%:*}.gguf
    [ -e "$file" ] || continue
    rest=${layout#*:}
    run info "$file" --json
    expect_status 0
    expect_json
    equal "$file" "$(json q2_layout)" "${rest%%:*}"
    checks=$((checks + 1))
    [ -n "$(json q2_reason)" ] || fail "$file: no reason for its layout"
    run info "$file"
    expect_in out "type 42          ${rest%%:*}: "
done

run info "$models/stories-q1_0.gguf" --json
expect_status 0
expect_json
equal 'refusal' "$("$json_check" refusal <"$scratch/out")" null
equal 'numbers' "$(json bytes) $(json parameters) $(json formats.Q1_0.tensors) $(json tensors.#) $(json metadata.#)" '4006784 27272704 57 90 22'
equal 'a tensor' "$(json tensors.0)" '{"name":"token_embd.weight","format":"Q1_0","type":41,"dims":[512,4096],"bytes":294912,"offset":134016,"part":0}'
equal 'network' "$(json network.layers) $(json network.head_dim) $(json network.tied) $(json memory.context)" '8 64 true 512'
equal 'ends' "$(json tokenizer.ends)" '[0,2]'

# A sound file that is not run: another architecture. It is described, and the reason is part of the result.
LC_ALL=C sed 's/qwen3/qwen9/g' "$models/stories-q1_0.gguf" >"$scratch/other.gguf"
run info "$scratch/other.gguf" --json
expect_status 0
expect_json
equal 'its architecture' "$(json architecture)" qwen9
checks=$((checks + 1))
[ -n "$(json refusal)" ] || fail "no reason is given for <$(cat "$scratch/out")>"
equal 'no network is made up' "$("$json_check" network <"$scratch/out")" null
run info "$scratch/other.gguf" --tensors
expect_status 0
expect_stderr ''
expect_in out 'cannot be run    '
expect_in out qwen9
expect_in out 'blk.7.ffn_down.weight'
run run -m "$scratch/other.gguf" Once
expect_status 1
expect_stdout ''
expect_one_line

# Control characters in a name from a file do not reach the terminal.
LC_ALL=C sed "s/Stories 27M q1_0/Stori$(printf '\033')[31mM q1_0/" "$models/stories-q1_0.gguf" >"$scratch/escape.gguf"
run info "$scratch/escape.gguf" --metadata
expect_status 0
expect_in out 'Stori?[31mM q1_0'
checks=$((checks + 1))
! grep -q "$(printf '\033')" "$scratch/out" || fail 'an escape character of the file was printed'
run info "$scratch/escape.gguf" --json
expect_json

# A failure that is not the file's is one.
run info "$models/stories-q1_0.gguf" --yarn-factor 4
expect_status 1
expect_one_line

finish
