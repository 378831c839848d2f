#!/bin/sh
# check-symbols.sh: what the libraries show the world: `tools/check-symbols.sh shohin.h libshohin.so libshohin.a`.
#
# The shared library exports what the header declares with SH_API, nothing more and nothing less; every global name in
# the static one begins with sh_, so that it cannot clash with a name of the program that links it.
set -eu
header=$1 shared=$2 static=$3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A declaration may span lines: the compiler takes the comments away, the macro is kept as it is, then there is one
# statement a line, and the name stands before its first '('.
sed 's/^# *define SH_API.*//' "$header" | "${CC:-cc}" -E -P -x c - |
    tr '\n' ' ' | sed 's/[;{}]/\n/g' |
    sed -n 's/.*SH_API  *\([^(]*\)(.*/\1/p' | sed 's/.*[ *]//' | LC_ALL=C sort >"$scratch/declared"
if [ "$(grep -c '^SH_API' "$header")" -ne "$(wc -l <"$scratch/declared")" ]; then
    echo "check-symbols.sh: $header has $(grep -c '^SH_API' "$header") lines that begin with SH_API, but $(wc -l \
        <"$scratch/declared") declarations were understood" >&2
    exit 1
fi

nm -D --defined-only "$shared" | awk '{ sub("@.*", "", $3); print $3 }' | LC_ALL=C sort >"$scratch/exported"
status=0
if ! diff "$scratch/declared" "$scratch/exported" >"$scratch/diff"; then
    sed -n -e 's/^< \(.*\)/declared with SH_API but not exported: \1/p' \
        -e 's/^> \(.*\)/exported but not declared with SH_API: \1/p' "$scratch/diff"
    status=1
fi

nm -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 && $3 !~ /^sh_/ { print $3 }' >"$scratch/foreign"
if [ -s "$scratch/foreign" ]; then
    sed 's/^/global in the static library, but does not begin with sh_: /' "$scratch/foreign"
    status=1
fi
[ "$status" -ne 0 ] || echo "$(wc -l <"$scratch/exported") names are exported, all of them declared in $header"
exit "$status"
