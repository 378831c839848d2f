#!/bin/sh
# check-install.sh: what is installed is whole and usable: `tools/check-install.sh BUILD`.
#
# Installs into a folder of its own, runs the program from there with its demo model, builds the example against the
# shared and against the static library as pkg-config says, and holds what the three write against each other.
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "check-install.sh: $*" >&2
    exit 1
}

# Installed in one place and moved to another, as packages are: nothing may remember the first.
cmake --install "$build" --prefix "$scratch/first" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    fail "cmake --install failed"
}
mv "$scratch/first" "$scratch/prefix"
cd "$scratch"
prefix=$scratch/prefix
pc=$(find "$prefix" -name shohin.pc)
[ -n "$pc" ] || fail "shohin.pc was not installed"
export PKG_CONFIG_PATH="${pc%/*}"
lib=${PKG_CONFIG_PATH%/pkgconfig}
for file in bin/shohin include/shohin.h share/shohin/models/stories-q1_0.gguf share/man/man1/shohin.1 \
    share/bash-completion/completions/shohin share/zsh/site-functions/_shohin \
    share/fish/vendor_completions.d/shohin.fish share/doc/shohin/LICENSE; do
    [ -s "$prefix/$file" ] || fail "$file was not installed"
done
for file in libshohin.a libshohin.so libshohin.so.0; do
    [ -s "$lib/$file" ] || fail "$file was not installed"
done
# The library has one header.
[ "$(find "$prefix/include" -type f | wc -l)" -eq 1 ] || fail "more than shohin.h is in include/"
readelf -d "$lib/libshohin.so" | grep -q 'SONAME.*\[libshohin\.so\.0\]' || fail "libshohin.so has another SONAME"

model=$prefix/share/shohin/models/stories-q1_0.gguf
prompt='Once upon a time'
tokens=24
# Without -m: the program finds its model from its own place. Greedy: everybody must write the same.
env -i PATH="$PATH" "$prefix/bin/shohin" run -p "$prompt" -n "$tokens" --temp 0 --echo >program.txt ||
    fail "the installed program fails"

example() {
    name=$1
    shift
    cp -R "$source/examples" "$name"
    make -s -C "$name" clean complete "$@" >log 2>&1 || {
        cat log
        fail "the example does not build ($name)"
    }
    [ ! -s log ] || {
        cat log
        fail "the example builds with warnings ($name)"
    }
}
example shared CFLAGS='-O2 -Wall -Wextra -Werror -pedantic'
example static CFLAGS='-O2 -Wall -Wextra -Werror -pedantic' STATIC=1
readelf -d shared/complete | grep -q 'NEEDED.*libshohin\.so\.0' || fail "the shared example asks for no libshohin.so.0"
readelf -d static/complete | grep -q 'NEEDED.*libshohin' && fail "the static example asks for libshohin.so"

LD_LIBRARY_PATH=$lib shared/complete "$model" "$prompt" "$tokens" >shared.txt || fail "the shared example fails"
static/complete "$model" "$prompt" "$tokens" >static.txt || fail "the static example fails"
cmp shared.txt static.txt || fail "the shared and the static example write different texts"
# The program ends its text as the example does, or without the line end.
printf '%s\n' "$(cat program.txt)" >program-line.txt
printf '%s\n' "$(cat shared.txt)" >shared-line.txt
cmp program-line.txt shared-line.txt || fail "the program and the example write different texts"
case $(cat shared.txt) in
"$prompt"?*) ;;
*) fail "the example does not continue its prompt: $(cat shared.txt)" ;;
esac

# What a user meets first: a model that is not there, told in one line.
if static/complete absent.gguf "$prompt" 1 >absent.txt 2>&1; then fail "a model that is not there was run"; fi
grep -q 'absent.gguf' absent.txt || fail "the message does not name the absent model: $(cat absent.txt)"
echo "installed, moved, run; the example runs with both libraries and writes what the program writes"
