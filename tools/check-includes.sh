#!/bin/sh
# check-includes.sh: includes point downward only.
#
#   tools/check-includes.sh [FOLDER]      checks the tree in FOLDER, this one by default
#   tools/check-includes.sh --self-test   checks that it would catch what it is there to catch
#
#   cli, server -> shohin.h alone         engine -> model, text, backend       model, text, backend -> format
#   everything of the library -> base     outside of backend/, its own headers: backend/NAME.h, not backend/cpu/NAME.h
#
# A part may also look further down (engine -> format). Prints one line FILE:LINE: reason for each include that does not
# fit.
set -eu

check() {
    cd "$1"
    find src -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.m' | LC_ALL=C sort >"$list"
    [ -s "$list" ] || {
        echo "check-includes.sh: no source is in $1/src" >&2
        return 1
    }
    # Names of files come one a line, so that blanks in them do no harm.
    awk '
    BEGIN {
        may["base"] = " base "
        may["format"] = " format base "
        may["text"] = " text format base "
        may["model"] = " model format base "
        may["backend"] = " backend format base "
        may["engine"] = " engine model text backend format base "
        may["cli"] = " cli "
        may["server"] = " server "
    }
    function complain(why) {
        printf "%s:%d: %s\n", file, line, why
        bad = 1
    }
    # What `file` of part `own` includes as `target`, in quotes or in angles.
    function judge(own, target, quoted,    top, rest) {
        if (target == "shohin.h") return
        top = target
        sub("/.*", "", top)
        if (target ~ /(^|\/)\.\.?(\/|$)/) {
            complain("\"" target "\" is a relative path: write it from src/")
        } else if (index(target, "/") && (top in may)) {
            if (!index(may[own], " " top " "))
                complain(own "/ may not include \"" target "\": it may look into" may[own] "and shohin.h only")
            rest = substr(target, length(top) + 2)
            if (top == "backend" && own != "backend" && index(rest, "/"))
                complain("\"" target "\" is inside a backend: others use the headers of backend/ itself")
        } else if (quoted && index(target, "/")) {
            complain("\"" target "\" is in no part of the library")
        }
    }
    {
        file = $0
        split(file, folder, "/")
        own = folder[2]
        line = 0
        if (!(own in may)) {
            complain("is in no part of the library")
            next
        }
        while ((getline text < file) > 0) {
            line++
            if (text !~ /^[ \t]*#[ \t]*include/) continue
            if (match(text, /"[^"]*"/)) judge(own, substr(text, RSTART + 1, RLENGTH - 2), 1)
            else if (match(text, /<[^>]*>/)) judge(own, substr(text, RSTART + 1, RLENGTH - 2), 0)
        }
        close(file)
    }
    END { exit bad }
    ' "$list"
}

# Each line: a file, what it includes, and whether that must pass.
self_test() {
    failed=0
    cases=0
    while read -r path target expected; do
        cases=$((cases + 1))
        tree="$scratch/a tree $cases"
        mkdir -p "$tree/${path%/*}" "$tree/src/base"
        printf '/* a file */\n#include <stdio.h>\n' >"$tree/src/base/fine.h"
        printf '/* a file */\n  #  include %s\n' "$target" >"$tree/$path"
        if output=$(check "$tree"); then result=pass; else result=fail; fi
        if [ "$result" = fail ]; then
            case $output in
            "$path:2: "*) ;;
            "$path:0: is in no part"*) ;;
            *) result="a complaint without its place: $output" ;;
            esac
        fi
        [ "$result" = "$expected" ] || {
            echo "self-test: $path including $target: expected $expected, got $result"
            failed=1
        }
    done <<'CASES'
src/base/a.c "base/status.h" pass
src/base/a.c "shohin.h" pass
src/base/a.c <format/gguf.h> fail
src/base/a.h "format/gguf.h" fail
src/format/a.c "base/status.h" pass
src/format/a.c "text/bpe.h" fail
src/text/a.c "format/gguf.h" pass
src/text/a.c "model/config.h" fail
src/text/a.c <pcre2.h> pass
src/model/a.c "format/layout.h" pass
src/model/a.c "text/bpe.h" fail
src/model/a.c "backend/backend.h" fail
src/backend/a.c "format/formats.h" pass
src/backend/cpu/a.c "backend/cpu/kernels.h" pass
src/backend/cpu/a.c "kernels.h" pass
src/backend/cpu/a.c "../backend.h" fail
src/backend/a.c "model/config.h" fail
src/backend/ref/a.c "engine/pass.h" fail
src/engine/a.c "backend/backend.h" pass
src/engine/a.c "backend/cpu/kernels.h" fail
src/engine/a.c "text/bpe.h" pass
src/engine/a.c "cli/options.h" fail
src/cli/a.c "shohin.h" pass
src/cli/a.c <shohin.h> pass
src/cli/a.c "cli/options.h" pass
src/cli/a.c "base/status.h" fail
src/cli/a.c "server/http.h" fail
src/server/a.c "engine/pass.h" fail
src/server/a.c "src/base/status.h" fail
src/misc/a.c "base/status.h" fail
CASES
    [ "$failed" -eq 0 ] && echo "check-includes.sh: $cases cases behave"
    return "$failed"
}

scratch=$(mktemp -d)
list=$scratch/list
trap 'rm -rf "$scratch"' EXIT
if [ "${1:-}" = --self-test ]; then
    self_test
else
    # In a shell of its own, as it changes the folder.
    (check "${1:-$(dirname "$0")/..}") || {
        echo "check-includes.sh: includes must point downward (tools/check-includes.sh says which way that is)" >&2
        exit 1
    }
fi
