#!/bin/sh
# check-format.sh: the C sources are laid out as .clang-format says; --fix lays them out.
#
# Only clang-format 14 is asked: every major version lays some things out differently. Status 77 if it is not here.
set -eu
cd "$(dirname "$0")/.."

tool=
for name in clang-format-14 clang-format; do
    if command -v "$name" >/dev/null 2>&1 && "$name" --version | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
[ -n "$tool" ] || {
    echo "check-format.sh: clang-format 14 is not here (Debian's clang-format-14)"
    exit 77
}

sources() {
    find . \( -path ./build -o -name node_modules \) -prune -o -name '*.[ch]' -exec "$tool" --style=file "$@" {} + 2>&1
}

case ${1:-} in
--fix) sources -i ;;
'')
    # One line a file is enough: --fix does the rest.
    wrong=$(sources --dry-run | sed -n 's/: warning: .*clang-formatted.*//p' | awk -F: '!seen[$1]++')
    if [ -n "$wrong" ]; then
        printf '%s\n' "$wrong" | sed 's/$/: is laid out otherwise (make format)/'
        exit 1
    fi
    ;;
*)
    echo "usage: tools/check-format.sh [--fix]" >&2
    exit 2
    ;;
esac
