#!/bin/sh
# check-front.sh: the Makefile and tools/packages.sh do what they say, without building or installing anything.
#
# packages.sh is run where little more than a shell is, with an apt-get that only writes down what it was asked for.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL INSTALL CC

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
wrong() {
    echo "check-front.sh: $*"
    failed=1
}

# ---- make ----
make help >"$scratch/help"
make >"$scratch/plain"
cmp -s "$scratch/help" "$scratch/plain" || wrong "plain 'make' is not 'make help'"
targets=$(sed -n 's/^\.PHONY: *//p' Makefile)
for target in $targets; do
    make -n "$target" >"$scratch/recipe-$target" || wrong "'make -n $target' fails"
    grep -q '^[a-z]' "$scratch/recipe-$target" || wrong "'make $target' does nothing"
    ! grep -q 'Nothing to be done' "$scratch/recipe-$target" || wrong "'make $target' does nothing"
    [ "$target" = help ] || grep -q "^make $target " "$scratch/help" || wrong "'make help' does not tell of $target"
done
# Every script that a recipe names is there.
cat "$scratch"/recipe-* | grep -o 'tools/[a-z-]*\.sh' | sort -u >"$scratch/scripts"
[ -s "$scratch/scripts" ] || wrong "no recipe runs a script: has the Makefile changed beyond this check?"
while IFS= read -r script; do
    [ -f "$script" ] || wrong "a recipe runs $script, which is absent"
done <"$scratch/scripts"

# ---- packages.sh ----
bin="$scratch/a bin"
mkdir "$bin"
for tool in sh env awk sed grep ls rm cat dirname; do
    path=$(command -v "$tool")
    ln -s "$path" "$bin/$tool"
done
fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}
# Runs packages.sh there; leaves its status in $status and its words in $scratch/said.
packages() {
    : >"$scratch/asked"
    status=0
    (export PATH="$bin" && exec sh tools/packages.sh "$@") >"$scratch/said" 2>&1 </dev/null || status=$?
}
said() { grep -q -e "$1" "$scratch/said" || wrong "$2: did not say '$1' but: $(cat "$scratch/said")"; }
build='gcc libc6-dev cmake pkg-config libpcre2-dev libutf8proc-dev libjson-c-dev'

fake id 'echo 0'
packages build test
[ "$status" -eq 1 ] || wrong "without apt-get: status $status"
said "missing: $build libcmocka-dev" "without apt-get"
said "no apt-get" "without apt-get"

# shellcheck disable=SC2016 # the fake expands it
fake apt-get 'echo "$DEBIAN_FRONTEND $*" >>"$ASKED"; exit "${APT_STATUS:-0}"'
export ASKED="$scratch/asked"
INSTALL=no packages build
[ "$status" -eq 1 ] || wrong "INSTALL=no: status $status"
said "INSTALL=no: $build\$" "INSTALL=no"
[ ! -s "$scratch/asked" ] || wrong "INSTALL=no: apt-get was run: $(cat "$scratch/asked")"

packages build
[ "$status" -eq 1 ] || wrong "an apt-get that installs nothing was believed"
said "still not as needed" "an apt-get that installs nothing"
grep -q "^noninteractive .*install --no-install-recommends $build ninja-build\$" "$scratch/asked" ||
    wrong "apt-get was asked: $(cat "$scratch/asked")"

APT_STATUS=100 packages build
[ "$status" -eq 1 ] || wrong "an apt-get that fails: status $status"
said "apt-get update' failed" "an apt-get that fails"

fake id 'echo 1000'
packages build
[ "$status" -eq 1 ] || wrong "a user without sudo: status $status"
said "Neither root nor sudo" "a user without sudo"
[ ! -s "$scratch/asked" ] || wrong "a user without sudo: apt-get was run"

# shellcheck disable=SC2016
fake sudo 'echo "sudo $1" >>"$ASKED"; shift; exec "$@"'
packages build
grep -q '^sudo -n$' "$scratch/asked" || wrong "sudo without a terminal: $(cat "$scratch/asked")"

packages nonsense
[ "$status" -eq 1 ] || wrong "a group that is none: status $status"
said "no group is called" "a group that is none"

# Here, where the tests run, what builds is there: nothing is asked of anyone.
sh tools/packages.sh build </dev/null >"$scratch/said" 2>&1 || wrong "packages.sh build: $(cat "$scratch/said")"
[ ! -s "$scratch/said" ] || wrong "packages.sh had something to say: $(cat "$scratch/said")"

[ "$failed" -ne 0 ] || echo "the front does what it says"
exit "$failed"
