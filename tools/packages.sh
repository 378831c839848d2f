#!/bin/sh
# packages.sh: sees to it that what a build needs is on the machine.
#
#   tools/packages.sh GROUP...      build, test, full
#
# Asks each thing itself whether it is there (a compiler compiles, pkg-config knows a library), so nothing is remembered
# that could be out of date, and a machine that has everything is done in a moment, without apt-get. What is missing is
# installed with apt-get, as root or by sudo, after a question if a person is there to answer it. Without apt-get, or
# with INSTALL=no, it names the packages and stops. INSTALL=yes leaves the question out.
# shellcheck disable=SC2086 # $missing and $wished are lists of words
set -u

fail() {
    echo "packages.sh: $*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# A compiler without libc6-dev is there but finds no <stdio.h>. Split in words, as CC="ccache gcc" is meant to be.
compiles() {
    have "${1%% *}" && printf '#include <stdio.h>\n#include <pthread.h>\n' | $1 -x c -fsyntax-only - 2>/dev/null
}

have_compiler() {
    if [ -n "${CC:-}" ]; then
        compiles "$CC"
    else
        compiles cc || compiles gcc || compiles clang
    fi
}

have_cmake() {
    have cmake || return 1
    version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    major=${version% *} minor=${version#* }
    [ "$major" -gt 3 ] || { [ "$major" -eq 3 ] && [ "$minor" -ge 25 ]; }
}

have_library() { have pkg-config && pkg-config --exists "$1"; }

# The program and the libraries of its sanitizers and its fuzzer come in packages of their own.
have_clang() {
    compiles clang || return 1
    folder=$(clang -print-runtime-dir 2>/dev/null) && ls "$folder"/libclang_rt.fuzzer*.a >/dev/null 2>&1
}

# The major version is part of the style: others lay the same file out differently.
have_clang_format() {
    have clang-format-14 || { have clang-format && clang-format --version | grep -q 'version 14\.'; }
}

# Adds the packages to $missing unless the probe is content.
need() {
    packages=$1
    shift
    "$@" || missing="$missing $packages"
}

# The same for what does good but is not needed: it never makes a run stop, and comes along when something else is
# installed.
wish() {
    packages=$1
    shift
    "$@" || wished="$wished $packages"
}

look() {
    missing='' wished=''
    for group; do
        case $group in
        build)
            need 'gcc libc6-dev' have_compiler
            need cmake have_cmake
            need pkg-config have pkg-config
            need libpcre2-dev have_library libpcre2-8
            need libutf8proc-dev have_library libutf8proc
            need libjson-c-dev have_library json-c
            wish ninja-build have ninja
            ;;
        test)
            need libcmocka-dev have_library cmocka
            ;;
        full)
            need 'gcc libc6-dev' compiles gcc
            need 'clang libclang-rt-14-dev' have_clang
            need clang-format-14 have_clang_format
            need shellcheck have shellcheck
            need mandoc have mandoc
            need valgrind have valgrind
            need nodejs have node
            need npm have npm
            ;;
        *) fail "no group is called '$group'; there are build, test and full" ;;
        esac
    done
    # Each package once.
    missing=$(printf '%s\n' $missing | awk '!seen[$0]++ { printf "%s%s", sep, $0; sep = " " }')
}

[ $# -gt 0 ] || fail "which packages? Name some of the groups build, test and full"
look "$@"
[ -n "$missing" ] || exit 0

command="apt-get install --no-install-recommends $missing$wished"
if [ "${INSTALL:-}" = no ]; then
    fail "missing, and not installed because of INSTALL=no: $missing"
fi
if ! have apt-get; then
    fail "missing: $missing (Debian's names). There is no apt-get here: install them as this system does"
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif ! have sudo; then
    fail "missing: $missing. Neither root nor sudo here: have an administrator run '$command'"
elif [ -t 0 ]; then
    as_root=sudo
else
    as_root='sudo -n' # nobody could type a password
fi

if [ -t 0 ] && [ "${INSTALL:-}" != yes ]; then
    printf 'Missing: %s\nInstall now with %s? [Y/n] ' "$missing" "'${as_root:+$as_root }$command'" >&2
    read -r answer || answer=n
    case $answer in
    '' | [Yy]*) ;;
    *) fail "not installed: $missing" ;;
    esac
fi

# Everything apt-get says goes to stderr: what `make demo` prints on stdout is the model's.
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" >&2
}

echo "packages.sh: installing $missing$wished" >&2
# An index fetched earlier is mostly good enough; if it is absent or names files that are gone, it is fetched anew.
if ! { ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 && apt install --no-install-recommends $missing $wished; }; then
    apt update || fail "'apt-get update' failed (its words are above): is there a network, and a mirror in /etc/apt?"
    apt install --no-install-recommends $missing $wished ||
        fail "'$command' failed (its words are above): install these packages by hand, then try again"
fi

look "$@"
[ -z "$missing" ] ||
    fail "installed, but still not as needed: $missing (CMake must be 3.25 or newer; CC, if set, must compile C)"
