#!/bin/sh
# check-generated.sh: what the program wrote about itself can be read: `tools/check-generated.sh BUILD/share`.
#
# The manual page by mandoc (status 77 if it is absent), each completion by its shell where that is here.
set -eu
share=$1
status=0

for file in man/man1/shohin.1 bash-completion/completions/shohin zsh/site-functions/_shohin \
    fish/vendor_completions.d/shohin.fish; do
    [ -s "$share/$file" ] || {
        echo "check-generated.sh: $share/$file is absent or empty"
        exit 1
    }
done
read_by() {
    if command -v "$1" >/dev/null 2>&1; then
        "$@" || {
            echo "check-generated.sh: $1 cannot read $3"
            status=1
        }
    fi
}
read_by bash -n "$share/bash-completion/completions/shohin"
read_by zsh -n "$share/zsh/site-functions/_shohin"
read_by fish -n "$share/fish/vendor_completions.d/shohin.fish"

if ! command -v mandoc >/dev/null 2>&1; then
    [ "$status" -ne 0 ] || status=77
    echo "mandoc is not here: nobody has read the manual page"
else
    # Without a date on purpose: one and the same source gives one and the same page whenever it is built.
    complaints=$(mandoc -T lint -W warning "$share/man/man1/shohin.1" | grep -v 'WARNING: missing date') || true
    [ -z "$complaints" ] || {
        printf '%s\n' "$complaints"
        status=1
    }
fi
exit "$status"
