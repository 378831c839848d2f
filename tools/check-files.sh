#!/bin/sh
# check-files.sh: what holds for the files of the tree, whatever is in them.
#
#   tools/check-files.sh [FOLDER]      checks the tree in FOLDER, this one by default
#   tools/check-files.sh --self-test   checks that it would catch what it is there to catch
#
# A source file has one job, which its first comment tells: under 900 lines, with a name that no other has. No file
# names a folder of somebody's machine or the package mirror it was made with: neither is there for the next reader.
set -eu

longest=900

# Longer files, each with its reason: "PATH LINES REASON".
exceptions() {
    cat <<'LONGER'
LONGER
}

# Files that belong to the tree; of a tree that is no git checkout, all but what is built.
files() {
    git ls-files -z --cached --others --exclude-standard 2>/dev/null | tr '\0' '\n' | LC_ALL=C sort >"$list"
    if [ ! -s "$list" ]; then
        find . \( -path ./build -o -name node_modules -o -name .git \) -prune -o -type f -print |
            sed 's@^\./@@' | LC_ALL=C sort >"$list"
    fi
}

# Put together here, so that this file does not hold them.
slash=/
before='(^|[^A-Za-z0-9_.~})*-])' # the path is absolute
somebodys="$before${slash}(work|root|Users)${slash}[A-Za-z0-9_.]|$before${slash}home${slash}[a-z]"
mirrors='"resolved": *"http''|registry\.[a-z]+''js\.|pkg\.dev/'

# One line FILE:LINE: reason for each thing that is not as it should be.
complaints() {
    # -H, as there may be one file only; what git lists may be gone; models and seeds of fuzzers hold what they hold.
    grep -vE '\.(gguf|png|jpg)$|^tests/fuzz/corpus/' "$list" | tr '\n' '\0' |
        LC_ALL=C xargs -0 grep -HnEIs -e "$somebodys" -e "$mirrors" -- |
        sed 's/^\([^:]*:[0-9]*:\)/\1 names a folder of one machine, or a package mirror: /'

    grep -E '^(src|include|tests|bench|examples)/.*\.[ch]$|\.(sh|cu|m)$' "$list" >"$scratch/sources"
    exceptions >"$scratch/exceptions"
    LC_ALL=C awk -v longest="$longest" -v exceptions="$scratch/exceptions" '
        BEGIN { while ((getline line < exceptions) > 0) { split(line, word); limit[word[1]] = word[2] } }
        {
            file = $0
            n = 0
            while ((getline line < file) > 0) {
                n++
                if (n == 1 && line !~ /^(\/\*|\/\/|#!)/)
                    print file ":1: does not begin with a comment that tells its job"
                if (line ~ /[ \t]$/) print file ":" n ": ends in a blank"
                if (line ~ /\t/) print file ":" n ": has a tab"
            }
            close(file)
            most = file in limit ? limit[file] : longest
            if (n >= most) print file ":" n ": has " n " lines, where " most " is too many: has it more than one job?"
        }' "$scratch/sources"
    [ -s "$scratch/sources" ] || echo "check-files.sh: no source is here"

    twice=$(grep -E '^(src|include)/.*\.[ch]$' "$list" | sed 's@.*/@@' | LC_ALL=C sort | uniq -d)
    [ -z "$twice" ] || echo "src/: several files have the name $twice"
}

check() {
    cd "$1"
    files
    complaints >"$scratch/complaints"
    cat "$scratch/complaints"
    [ ! -s "$scratch/complaints" ]
}

# A small tree that passes, spoiled in one way at a time.
self_test() {
    failed=0
    good="$scratch/a good tree"
    mkdir -p "$good/src/base" "$good/docs"
    printf '/* a.c: a job. */\nint sh_a;\n' >"$good/src/base/a.c"
    printf 'Put it in %s, or in ~/models, on http://localhost/work/1.\n' "${slash}usr${slash}share" >"$good/docs/a.md"
    (check "$good") || {
        echo "self-test: a tree that is as it should be was refused"
        return 1
    }
    cases=0
    # NAME, the file that is added to the tree (its text is in $scratch/text), and what the complaint must hold.
    spoil() {
        cases=$((cases + 1))
        tree="$scratch/$cases"
        cp -R "$good" "$tree"
        mkdir -p "$tree/${2%/*}"
        cp "$scratch/text" "$tree/$2"
        if output=$(cd / && check "$tree"); then
            echo "self-test: $1 was not seen"
            failed=1
            return
        fi
        case $output in
        *"$3"*) ;;
        *)
            echo "self-test: $1: the complaint does not hold '$3': $output"
            failed=1
            ;;
        esac
    }
    text() {
        # shellcheck disable=SC2059 # the first argument is a format
        printf "$@" >"$scratch/text"
    }
    awk 'BEGIN { print "/* b.c: too much. */"; for (i = 1; i < 900; i++) print "int sh_b" i ";" }' >"$scratch/text"
    spoil 'a long file' src/base/b.c 'has 900 lines'
    text 'int sh_b;\n'
    spoil 'a file without its comment' src/base/b.c src/base/b.c:1:
    text '/* a.c: another. */\n'
    spoil 'a name used twice' src/format/a.c 'have the name a.c'
    text '/* b.c: b. */\nint sh_b; \n'
    spoil 'a blank at an end' src/base/b.c src/base/b.c:2:
    text '/* b.c: b. */\n\tint sh_b;\n'
    spoil 'a tab' src/base/b.c src/base/b.c:2:
    text 'one\nsee %swork%smodels\n' "$slash" "$slash"
    spoil 'a folder of one machine' docs/b.md docs/b.md:2:
    text 'see %shome%ssomebody%sx\n' "$slash" "$slash" "$slash"
    spoil 'a home' docs/b.md docs/b.md:1:
    text '{ "%s": "https://mirror.example/x.tgz" }\n' resolved
    spoil 'a mirror' tests/package-lock.json tests/package-lock.json:1:
    [ "$failed" -eq 0 ] && echo "check-files.sh: $cases cases behave"
    return "$failed"
}

scratch=$(mktemp -d)
list=$scratch/list
trap 'rm -rf "$scratch"' EXIT
if [ "${1:-}" = --self-test ]; then
    self_test
else
    (check "${1:-$(dirname "$0")/..}")
fi
