#!/bin/sh
# Model files and texts that are not there, or not what they should be; where the demo model is looked for.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
demo=$models/stories-q1_0.gguf

mkdir "$scratch/folder"
: >"$scratch/empty.gguf"
printf 'GGUF' >"$scratch/short.gguf"
head -c 1000 /dev/zero >"$scratch/zeros.gguf"
head -c 100000 "$demo" >"$scratch/metadata.gguf"  # cut in the metadata
head -c 1000000 "$demo" >"$scratch/tensors.gguf"  # cut in the tensors
bytes=$(wc -c <"$demo")
head -c $((bytes - 1)) "$demo" >"$scratch/last.gguf" # the last byte is missing
for command in run info tokenize score; do
    for file in absent.gguf folder empty.gguf short.gguf zeros.gguf metadata.gguf tensors.gguf last.gguf; do
        run "$command" -m "$scratch/$file" </dev/null
        expect_status 1
        expect_stdout ''
        expect_one_line
        expect_in err "$scratch/$file"
    done
done
run info "$scratch/absent.gguf"
expect_in err 'No such file or directory'
run info --json "$scratch/absent.gguf"
expect_status 1
expect_stdout ''

# ---- which model
run info
expect_status 0 # the demo model beside the program
expect_in out stories-q1_0.gguf
SHOHIN_MODEL=$scratch/absent.gguf run info
expect_status 1
expect_in err "$scratch/absent.gguf"
SHOHIN_MODEL=$models/stories-q2_0_g64.gguf run info
expect_status 0
expect_in out stories-q2_0_g64.gguf
SHOHIN_MODEL=$scratch/absent.gguf run info -m "$demo" # -m comes first
expect_status 0
SHOHIN_MODEL='' run info # as if it were not set
expect_status 0
expect_in out stories-q1_0.gguf

mkdir -p "$scratch/elsewhere/bin" "$scratch/elsewhere/share/shohin/models"
cp "$shohin" "$scratch/elsewhere/bin/shohin"
cp "$demo" "$scratch/elsewhere/share/shohin/models/stories-q1_0.gguf"
status=0
last='a program in another place'
"$scratch/elsewhere/bin/shohin" info >"$scratch/out" 2>"$scratch/err" || status=$?
expect_status 0
expect_in out "$scratch/elsewhere/bin/../share/shohin/models/stories-q1_0.gguf"

# ---- texts
export SHOHIN_MODEL="$demo"
for command in run tokenize score; do
    run "$command" -f "$scratch/absent.txt"
    expect_status 1
    expect_stderr "shohin: -f $scratch/absent.txt: No such file or directory"
    run "$command" -f "$scratch/folder"
    expect_status 1
    expect_stderr "shohin: reading $scratch/folder: Is a directory"
done

finish
