#!/bin/sh
# The man page and the completions, which are written from the option table.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

run generate man
expect_status 0
expect_stderr ''
for option in threads ctx batch prompt file ids seed stride tensors log-level; do
    expect_in out "\\fB\\-\\-$(printf %s "$option" | sed 's/-/\\-/g')\\fR"
done
cp "$scratch/out" "$scratch/shohin.1"
checked=0
if command -v mandoc >/dev/null 2>&1; then
    checks=$((checks + 1))
    checked=1
    found=$(mandoc -Tlint -Wwarning "$scratch/shohin.1") || fail "mandoc: $found"
fi
if command -v groff >/dev/null 2>&1; then
    checks=$((checks + 1))
    checked=1
    groff -man -Tutf8 -ww -z "$scratch/shohin.1" >"$scratch/groff" 2>&1
    [ ! -s "$scratch/groff" ] || fail "groff: $(cat "$scratch/groff")"
fi
[ "$checked" -eq 1 ] || echo 'neither mandoc nor groff is here: the man page was not checked'

run generate bash
expect_status 0
cp "$scratch/out" "$scratch/completion.bash"
if command -v bash >/dev/null 2>&1; then
    # offers WORD...: what bash offers for the last word
    offers() {
        bash --norc -c '. "$1"; shift
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shohin; printf "%s " "${COMPREPLY[@]}"' bash "$scratch/completion.bash" "$@"
    }
    equal 'commands' "$(offers shohin t)" 'tokenize '
    equal 'all commands' "$(offers shohin '')" 'run info tokenize score help version --help --version '
    equal 'options' "$(offers shohin run --s)" '--special --seed --stats '
    equal 'options of another command' "$(offers shohin info --te)" '--tensors '
    equal 'choices' "$(offers shohin run --q2-layout '')" 'auto 64 128 codes-first '
    equal 'choices after =' "$(offers shohin run --rope-scaling = y)" 'yarn '
    equal 'choices after a bare =' "$(offers shohin run --rope-scaling =)" 'none yarn '
    equal 'nothing for a number' "$(offers shohin run -t '')" ' '
    mkdir "$scratch/files"
    : >"$scratch/files/a model.gguf"
    equal 'files' "$(offers shohin run -m "$scratch/files/a")" "$scratch/files/a model.gguf "
    equal 'files of info' "$(offers shohin info "$scratch/files/a")" "$scratch/files/a model.gguf "
    equal 'help' "$(offers shohin help sc)" 'score '
fi

run generate zsh
expect_status 0
equal 'zsh finds it by its first line' "$(head -n 1 "$scratch/out")" '#compdef shohin'
cp "$scratch/out" "$scratch/_shohin"
if command -v zsh >/dev/null 2>&1; then
    checks=$((checks + 1))
    zsh -n "$scratch/_shohin" || fail 'zsh cannot read its completions'
fi
run generate fish
expect_status 0
expect_in out "-l q2-layout -x -a 'auto 64 128 codes-first'"
cp "$scratch/out" "$scratch/shohin.fish"
if command -v fish >/dev/null 2>&1; then
    checks=$((checks + 1))
    fish -n "$scratch/shohin.fish" || fail 'fish cannot read its completions'
fi

run generate
expect_status 2
run generate tcsh
expect_status 2
expect_stderr "shohin: \"tcsh\" is not one of man, bash, zsh, fish; see 'shohin generate --help'"

finish
