#!/bin/sh
# check-clone.sh: a copy of the tree, in a folder with blanks in its name, builds from nothing, tells its story and
# installs to another such folder, with make alone.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR PREFIX PROMPT

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "check-clone.sh: $*" >&2
    exit 1
}

clone="$scratch/a folder (with blanks)"
mkdir "$clone"
if ! git ls-files -z --cached --others --exclude-standard >"$scratch/list" 2>/dev/null || [ ! -s "$scratch/list" ]; then
    find . \( -path ./build -o -name node_modules -o -name .git \) -prune -o -type f -print0 >"$scratch/list"
fi
# A file may have gone that git still lists.
tar -cf - --ignore-failed-read --null -T "$scratch/list" 2>/dev/null | tar -xf - -C "$clone"
cd "$clone"

INSTALL=no make demo PROMPT="One day, Tim's dog" >"$scratch/story" 2>"$scratch/log" || {
    cat "$scratch/log"
    fail "make demo fails"
}
case $(cat "$scratch/story") in
"One day, Tim's dog"?????*) ;;
*) fail "make demo did not tell a story: $(cat "$scratch/story")" ;;
esac
grep -q 'token' "$scratch/log" || fail "make demo does not tell its speed: $(cat "$scratch/log")"

INSTALL=no make install PREFIX="$scratch/an install" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    fail "make install fails"
}
cd "$scratch"
rm -rf "$clone"
"$scratch/an install/bin/shohin" run -p 'Once upon a time' -n 5 >"$scratch/story" 2>"$scratch/log" || {
    cat "$scratch/log"
    fail "the installed program fails once the tree is gone"
}
[ -s "$scratch/story" ] || fail "the installed program writes nothing"
echo "built, demonstrated and installed with blanks in the names"
