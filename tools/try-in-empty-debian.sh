#!/bin/sh
# try-in-empty-debian.sh: shows that the short ways in work where nothing is installed (to be run by hand, as root).
#
#   tools/try-in-empty-debian.sh [--worktree] [COMMAND...]
#
# Lays down the smallest Debian that debootstrap makes in a temporary folder, with this machine's mirror and apt
# settings, adds make and a clone of this repository (of what is committed; with --worktree of the files as they lie),
# and runs each COMMAND there without a terminal: 'make demo' and 'make check' if none is given. '.ci/run' is another to
# try; it adds make itself.
#
# SUITE    the Debian to lay down (bookworm)
# BASE     a tar file: taken as the empty Debian if it is there, written otherwise, which saves a minute the next time
# KEEP=1   leave the folder behind, and say where it is
set -eu

say() { printf 'try-in-empty-debian.sh: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

suite=${SUITE:-bookworm}
source=$(cd "$(dirname "$0")/.." && pwd)
worktree=
if [ "${1:-}" = --worktree ]; then
    worktree=yes
    shift
fi
[ $# -gt 0 ] || set -- 'make demo' 'make check'

[ "$(id -u)" -eq 0 ] || fail "needs root, for debootstrap, mount and chroot"
command -v debootstrap >/dev/null 2>&1 || fail "debootstrap is absent (Debian's package debootstrap)"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/empty-debian.XXXXXX")
root=$scratch/root
mounted=
# Whatever happens, nothing of this machine stays mounted in a folder that is then removed.
# shellcheck disable=SC2317 # called by the trap
leave() {
    trap '' INT TERM
    for point in $mounted; do umount "$root/$point" || KEEP=1; done
    if [ -n "${KEEP:-}" ]; then
        say "left in $scratch"
    else
        rm -rf --one-file-system "$scratch"
    fi
}
trap leave EXIT
trap 'exit 130' INT TERM
mount_there() {
    mkdir -p "$root/$1"
    mount "$2" "$3" "$root/$1" || fail "cannot mount /$1 there"
    mounted="$1 $mounted"
}

# ---- the empty Debian ----

# What apt here knows of the suite; where apt-get has not been updated, what its files say is all there is.
# shellcheck disable=SC2016 # apt expands these
apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$suite" '$3 ~ "^" suite "(-|$)" && !seen[$0]++' >"$scratch/sources"
mirror=$(awk -v suite="$suite" '$3 == suite { print $2; exit }' "$scratch/sources")

mkdir "$root"
if [ -n "${BASE:-}" ] && [ -f "$BASE" ]; then
    say "unpacking $BASE"
    tar -xpf "$BASE" -C "$root"
else
    say "laying down $suite${mirror:+ from $mirror}"
    # shellcheck disable=SC2086 # no word at all if there is no mirror
    debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} >"$scratch/debootstrap.log" 2>&1 || {
        tail -n 20 "$scratch/debootstrap.log" >&2
        fail "debootstrap failed"
    }
    [ -z "${BASE:-}" ] || tar -cpf "$BASE" -C "$root" .
fi
[ ! -s "$scratch/sources" ] || cp "$scratch/sources" "$root/etc/apt/sources.list"
apt-config dump Acquire | grep -v '^Acquire "";' >"$root/etc/apt/apt.conf.d/99acquire" || true
# An index must not be there yet: that is part of being empty.
rm -rf "$root"/var/lib/apt/lists/*
for file in resolv.conf hosts; do [ ! -f "/etc/$file" ] || cp -L "/etc/$file" "$root/etc/$file"; done
# Packages start no services there.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
mount_there proc -tproc proc
mount_there dev --bind /dev
mount --make-private "$root/dev" # else the next mount would appear in this machine's /dev as well
mount_there dev/pts -tdevpts devpts # terminals, for the tests that open one

inside() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI="${CI:-true}" \
        chroot "$root" "$@" </dev/null
}

# ---- the repository ----

mkdir -p "$root/srv"
clone=$root/srv/shohin
if [ -n "$worktree" ]; then
    mkdir "$clone"
    (cd "$source" && git ls-files -z --cached --others --exclude-standard |
        tar -cf - --ignore-failed-read --null -T - 2>/dev/null) | tar --no-same-owner -xf - -C "$clone"
else
    git clone -q --no-hardlinks "$source" "$clone" || fail "nothing is committed? See --worktree"
fi

# ---- the commands ----

status=0
case $1 in
make*)
    say "installing make"
    inside sh -c 'apt-get -qq update && export DEBIAN_FRONTEND=noninteractive &&
        apt-get -qq -y --no-install-recommends install make' >"$scratch/make.log" 2>&1 || {
        tail -n 20 "$scratch/make.log" >&2
        fail "make cannot be installed there"
    }
    ;;
esac
summary=
for command; do
    say "$command"
    begun=$(date +%s)
    result=works
    # shellcheck disable=SC2016 # expanded inside
    inside sh -c 'cd /srv/shohin && eval "$1"' sh "$command" || {
        result=FAILS
        status=1
    }
    summary="$summary
    $command: $result, $(($(date +%s) - begun)) s"
done
say "in an empty $suite:$summary"
exit "$status"
