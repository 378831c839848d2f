#!/bin/sh
# The parser's ways of writing an option, its refusals word for word with exit status 2, and help.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

# refused "TEXT" ARGUMENT...: exit status 2, nothing on standard output, and exactly this line.
refused() {
    expected=$1
    shift
    run "$@" </dev/null
    expect_status 2
    expect_stdout ''
    expect_stderr "shohin: $expected"
}

run
expect_status 2
expect_stdout ''
expect_stderr "Usage: shohin COMMAND [options]
Try 'shohin run \"Once upon a time\"', or 'shohin --help'."

refused "\"rum\" is not a command; did you mean \"run\"?; see 'shohin --help'" rum
refused "\"tokenise\" is not a command; did you mean \"tokenize\"?; see 'shohin --help'" tokenise
refused "\"frobnicate\" is not a command; see 'shohin --help'" frobnicate
refused "\"-n5\": the command comes before its options; see 'shohin --help'" -n5 run
refused "\"frobnicate\" is not a command; see 'shohin --help'" help frobnicate

# numbers: not one, out of range on both sides, empty, with a tail, too long for 64 bits
r="see 'shohin run --help'"
refused "--threads: \"abc\" is not a number from 1 to 1024; $r" run --threads abc
refused "--threads: \"abc\" is not a number from 1 to 1024; $r" run --threads=abc
refused "-t: \"0\" is not a number from 1 to 1024; $r" run -t 0
refused "-t: \"1025\" is not a number from 1 to 1024; $r" run -t1025
refused "-t: \"\" is not a number from 1 to 1024; $r" run -t ''
refused "-t: \"4x\" is not a number from 1 to 1024; $r" run -t 4x
refused "-t: \" 4\" is not a number from 1 to 1024; $r" run -t ' 4'
refused "-t: \"0x4\" is not a number from 1 to 1024; $r" run -t 0x4
refused "-t: \"99999999999999999999\" is not a number from 1 to 1024; $r" run -t 99999999999999999999
refused "-n: \"-2\" is not a number from -1 to 2147483647; $r" run -n -2
refused "--ctx: \"1048577\" is not a number from 0 to 1048576; $r" run --ctx 1048577
refused "-b: \"65537\" is not a number from 1 to 65536; $r" run -b 65537
refused "--temp: \"-0.1\" is not a number from 0 to 100; $r" run --temp -0.1
refused "--temp: \"nan\" is not a number from 0 to 100; $r" run --temp nan
refused "--temp: \"inf\" is not a number from 0 to 100; $r" run --temp=inf
refused "--temp: \"1,5\" is not a number from 0 to 100; $r" run --temp 1,5
refused "--top-p: \"1.01\" is not a number from 0 to 1; $r" run --top-p 1.01
refused "--min-p: \"\" is not a number from 0 to 1; $r" run --min-p=
refused "--seed: \"-2\" is not a number from 0 to 18446744073709551615, or -1; $r" run --seed -2
refused "-s: \"18446744073709551616\" is not a number from 0 to 18446744073709551615, or -1; $r" run -s18446744073709551616
refused "--yarn-factor: \"0.5\" is not a number from 1 to 1000; $r" run --yarn-factor 0.5

# choices
refused "--q2-layout: \"32\" is not one of auto, 64, 128, codes-first; $r" run --q2-layout 32
refused "--log-level: \"loud\" is not one of error, warn, info, debug; $r" run --log-level loud
refused "--rope-scaling: \"\" is not one of none, yarn; $r" run --rope-scaling=
run run --device gpu
expect_status 2
expect_in err 'shohin: --device: "gpu" is not one of auto, '
expect_in err 'ref'

# values missing or too many
refused "--temp needs a value: T; $r" run --temp
refused "-m needs a value: FILE; $r" run -m
refused "--stats takes no value; $r" run --stats=1
refused "-m: the name of the file is empty; $r" run -m ''

# names
refused "--thread is not an option; did you mean --threads?; $r" run --thread 4
refused "--sede is not an option; did you mean --seed?; $r" run --sede=4
refused "--frobnicate is not an option; $r" run --frobnicate
refused "-x is not an option; $r" run -x
refused "-temp is not an option; did you mean --temp?; $r" run -temp 0.5
refused "--temp is an option of run, not of info; see 'shohin info --help'" info --temp 1
refused "-n is an option of run, not of tokenize; see 'shohin tokenize --help'" tokenize -n 5
refused "--ids is an option of tokenize, score, not of run; $r" run --ids 1
refused "--draft: there is no speculation yet; leave it out; $r" run --draft lookup

# what llama.cpp calls otherwise, or has and we have not
refused "--threads-batch is called -t, --threads here; $r" run --threads-batch 5
refused "--ppl-stride is called --stride here, an option of score; $r" run --ppl-stride 5
refused "-ub is called -b, --batch here; $r" run -ub 5
refused "--repeat-penalty: nothing here alters the probabilities but --temp, --top-k, --top-p and --min-p; leave it out; $r" \
    run --repeat-penalty 1.1
refused "-ngl needs a value: a number of layers, all or auto; $r" run -ngl
refused "-ngl: \"many\" is not a number from -1 to 9999, all or auto; $r" run -ngl many
refused "-ngl is an option of run, info, score, not of tokenize; see 'shohin tokenize --help'" tokenize -ngl 5
refused "--jinja takes no value; $r" run --jinja=1
refused "--flash-attn: \"yes\" is not one of on, off, auto; $r" run --flash-attn=yes

# texts
refused "-p and -f: give one of them; $r" run -p a -f b
refused "\"b\": the text is already given by -p; $r" run -p a b
refused "\"b\": the text is already given by -f; $r" run -f a b
refused "\"-\" is standard input, and stands alone; $r" run a -
refused "\"x.gguf\" looks like a model file: give it by -m, or as a text by -p; $r" run x.gguf hello
refused "--ids and a text: give one of them; see 'shohin score --help'" score --ids 1 -p a
refused "--ids and a text: give one of them; see 'shohin tokenize --help'" tokenize --ids 1 a
refused "--no-bos: --ids takes the ids as they are; see 'shohin score --help'" score --ids 1 --no-bos
refused "--special: --ids takes the ids as they are; see 'shohin score --help'" score --ids 1 --special
refused "\"b\": info takes one [FILE] only; see 'shohin info --help'" info a b
refused "\"a\": the file is already given by -m; see 'shohin info --help'" info -m b a
refused "\"a\": version takes options only; see 'shohin version --help'" version a

# lists of ids
t="see 'shohin tokenize --help'"
refused "--ids: the list of token ids is empty; $t" tokenize --ids ''
refused "--ids: the list of token ids is empty; $t" tokenize --ids '[]'
refused "--ids: \"1,,2\" is not a list of token ids such as 1,2,3; $t" tokenize --ids 1,,2
refused "--ids: \"1,a\" is not a list of token ids such as 1,2,3; $t" tokenize --ids 1,a
refused "--ids: \"[1,2\" is not a list of token ids such as 1,2,3; $t" tokenize --ids '[1,2'
refused "--ids: \"1,2]\" is not a list of token ids such as 1,2,3; $t" tokenize --ids '1,2]'
refused "--ids: \"-1\" is not a list of token ids such as 1,2,3; $t" tokenize --ids -1
refused "--ids: \"2147483648\" is not a token id from 0 to 2147483647; $t" tokenize --ids 7,2147483648
refused "--ids: \"99999999999999999999\" is not a token id from 0 to 2147483647; $t" tokenize --ids=99999999999999999999

# a line end or an escape in a word must not end the line or reach the terminal
refused "--threads: \"a?b?[31m\" is not a number from 1 to 1024; $r" run --threads "$(printf 'a\nb\033[31m')"

# ways of writing the same
run tokenize -m "$models/stories-q1_0.gguf" -p 'Once upon' --json
expect_status 0
cp "$scratch/out" "$scratch/plain"
for words in "--model=$models/stories-q1_0.gguf|--prompt=Once upon|--json" "-m$models/stories-q1_0.gguf|-pOnce upon|--json" \
    "--json|Once|-m|$models/stories-q1_0.gguf|upon" "-m|nothing|-m|$models/stories-q1_0.gguf|--json|--|Once|upon"; do
    saved=$IFS
    IFS='|'
    # shellcheck disable=SC2086 # cut at the bars
    run tokenize $words
    IFS=$saved
    expect_status 0
    same plain out "$last"
done
run tokenize -m "$models/stories-q1_0.gguf" -- --json
expect_status 0
expect_in out '"j"' # a text, not an option

# options of llama.cpp that are true here already: taken, with a note
note() {
    expected=$1
    shift
    run tokenize -m "$models/stories-q1_0.gguf" "$@" Once </dev/null
    expect_status 0
    expect_stderr "shohin: note: $expected"
}
note '--jinja changes nothing: no chat template is ever guessed or simplified' --jinja
note "-no-cnv changes nothing: 'run' continues a text" -no-cnv
note "-no-cnv changes nothing: 'run' continues a text" -no-cnv --no-conversation
for words in -fa --flash-attn --flash-attn=on '-fa on' '-fa off' '-fa auto'; do
    # shellcheck disable=SC2086 # two words
    note '-fa changes nothing: attention is always computed block by block' $words
    expect_in out '"Once"'
    equal "$last: tokens" "$(wc -l <"$scratch/out" | tr -d ' ')" 2
done
run tokenize -m "$models/stories-q1_0.gguf" --jinja --log-level error Once
expect_status 0
expect_stderr ''
for layers in 0 99 -1 all auto; do
    run info "$models/stories-q1_0.gguf" -ngl "$layers"
    expect_status 0
    expect_stderr 'shohin: note: -ngl only chooses the device (0: the CPU): all layers run on one; see --device'
done

# harmless ones
note '--color changes nothing: no text is coloured' --color
note '--color changes nothing: no text is coloured' -co auto
mapped="--no-mmap and --mmap change nothing: weights stay in the file's map or in one packed copy, as the device needs"
note "$mapped" --no-mmap
note "$mapped" --mmap
note '--mlock changes nothing: weights are not locked in memory' --mlock
note '--no-warmup changes nothing: no pass is run before the first' --no-warmup
note '--no-perf changes nothing: speeds are told only by --stats' --no-perf
note '--simple-io changes nothing: all input and output is plain' --simple-io
note '--offline changes nothing: nothing is ever downloaded' --offline
note '--no-repack changes nothing: the device decides how weights are laid out' --no-repack
note '--no-repack changes nothing: the device decides how weights are laid out' -nr
note '--no-escape changes nothing: texts are taken exactly as given' --no-escape
note '--no-display-prompt changes nothing: the prompt is printed only by --echo' --no-display-prompt
run tokenize -m "$models/stories-q1_0.gguf" --jinja -no-cnv -fa --color --no-mmap --mlock --no-warmup --no-perf --simple-io --offline \
    --no-repack --no-escape --no-display-prompt Once
expect_status 0
equal 'a note for each' "$(grep -c '^shohin: note: ' "$scratch/err")" 13

# other names that mean exactly the same
demo="$models/stories-q1_0.gguf"
run run -m "$demo" Once -c 8 -n 3 -b 2 --temp 0 --json
expect_status 0
json ids >"$scratch/plain"
equal '-n' "$(json ids.#)" 3
for words in '--ctx-size 8 --n-predict 3 --batch-size 2 --temperature 0' '--ctx-size=8 --n-predict=3 --batch-size=2 --temperature=0'; do
    # shellcheck disable=SC2086 # words
    run run -m "$demo" Once $words --json
    expect_status 0
    expect_stderr ''
    json ids >"$scratch/ids"
    same plain ids "$words"
done
run run -m "$demo" 'Once upon a time' --ctx-size 4
expect_status 1
expect_in err 'context of 4 '
refused "--n-predict: \"x\" is not a number from -1 to 2147483647; $r" run --n-predict x
refused "--ctx-size needs a value: N; $r" run --ctx-size
refused "--batch-size: \"0\" is not a number from 1 to 65536; $r" run --batch-size=0
refused "--temperature: \"-1\" is not a number from 0 to 100; $r" run --temperature -1
refused "--temperature is an option of run, not of info; see 'shohin info --help'" info --temperature 1

# options of llama.cpp and ollama that are not here: never cut into a short option and a value, and always with what to do
absent() {
    why=$1
    shift
    for word; do
        refused "$word: $why; $r" run "$word" q8_0 Once
        refused "$word: $why; $r" run "$word=4" Once
        refused "$word: $why; $r" run Once "$word"
    done
}
absent 'nothing is downloaded; fetch the GGUF file and give it by -m' -hf -hfr --hf-repo -hff --hf-file -hft --hf-token \
    -mu --model-url
absent "there is no chat yet: 'run' continues a text" -cnv --conversation --chat -i --interactive -mli -st --single-turn -sys \
    --system-prompt -sysf --system-prompt-file --chat-template --chat-template-file --no-think
absent 'there is no speculation yet; leave it out' -md --model-draft --draft -cd --ctx-size-draft -td -tbd -ctkd -ctvd -hfd
absent 'keys and values are kept as the device keeps them; leave it out' -ctk --cache-type-k -ctv --cache-type-v --kv-type -nkvo \
    --no-kv-offload
absent 'there is no server yet; leave it out' -np --parallel -cb --cont-batching -nocb --port --host -cram -sps
absent 'text is not constrained yet; leave it out' --grammar -j --json-schema
absent 'sessions are not saved yet; leave it out' --session
absent 'adapters are not run; merge it into its model first' --lora
absent 'pictures are not read; leave it out' -mm --mmproj -mmu
absent 'there are no stop strings yet; -n limits the text' -r --reverse-prompt
absent 'control tokens are not printed; leave it out' -sp
absent 'the context is made to fit the memory unless -c sets it; leave it out' -fit --fit
absent 'there is one set of kernels so far; leave it out' --cpu
absent 'nothing here alters the probabilities but --temp, --top-k, --top-p and --min-p; leave it out' --typ-p --typical --top-nsigma
absent 'a model runs on one device, chosen by --device; leave it out' -sm -ts -mg -cmoe -ncmoe
absent 'give --log-level debug' -v --verbose
absent 'give --log-level error' --log-disable
absent 'give --stats' -ptc
refused "--num-ctx is called -c, --ctx here; $r" run --num-ctx 512 Once
refused "--num-predict is called -n, --predict here; $r" run --num-predict=5 Once

# behind a flag's letter come only flags' letters
for word in -hx -hn5 -hfoo -h=1 -h5; do refused "$word is not an option; $r" run "$word"; done
run run -hh
expect_status 0
expect_in out 'Usage: shohin run '

# what is far from --help and --version is no slip of them
for word in --sessin --helix --hepatic --ver --versatile --conversion --vers1on2; do
    refused "$word is not an option; $r" run "$word" f Once
done
refused "--hepl is not an option; did you mean --help?; $r" run --hepl
refused "--verson is not an option; did you mean --version?; $r" run --verson

# commands of other engines
later() { refused "\"$1\" is not there yet; $2; see 'shohin --help'" "$1" x; }
later chat "'run' continues a text"
later serve "'run' continues a text"
later bench "'run --stats' tells speeds"
later perplexity "'score' prints it"
later pull 'fetch the GGUF file and give it by -m'
later convert 'give a file that is GGUF already by -m'
later quantize 'give a file that is quantized already by -m'

# a name that nobody typed is told with where it comes from; one that was typed is not
SHOHIN_MODEL="$scratch/absent.gguf"
export SHOHIN_MODEL
for command in run info tokenize score; do
    run "$command" </dev/null
    expect_status 1
    expect_stdout ''
    expect_stderr "shohin: $scratch/absent.gguf, which SHOHIN_MODEL names: No such file or directory; correct it, or name a GGUF file by -m"
done
run info -m "$scratch/other.gguf"
expect_status 1
expect_one_line
expect_in err "$scratch/other.gguf"
checks=$((checks + 1))
! grep -q SHOHIN_MODEL "$scratch/err" || fail "$last: tells of SHOHIN_MODEL"
unset SHOHIN_MODEL

# a seed is told of a text that was drawn, however it ended, and of no other
seed_told='^shohin: seed [0-9]*; --seed [0-9]* gives this text again$'
run run -m "$demo" Once -n 0
expect_status 0
expect_stderr ''
run run -m "$demo" Once -n 1
expect_status 0
equal 'a seed of one token' "$(grep -c "$seed_told" "$scratch/err")" 1
# interrupted SECONDS ARGUMENT...: like run, ended by an interrupt. A shell's background jobs ignore them, timeout's child does not.
interrupted() {
    seconds=$1
    shift
    status=0
    timeout --preserve-status -s INT "$seconds" "$shohin" "$@" </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
    last="interrupted: shohin $*"
}
if command -v timeout >/dev/null 2>&1; then
    for seconds in 0.02 0.1 0.4 1; do
        interrupted "$seconds" run -m "$demo" Once --ignore-eos -t 1
        checks=$((checks + 1))
        told=$(grep -c "$seed_told" "$scratch/err")
        text=$(wc -c <"$scratch/out")
        if { [ "$text" -gt 0 ] && [ "$told" -ne 1 ]; } || { [ "$text" -eq 0 ] && [ "$told" -ne 0 ]; }; then
            fail "$last after $seconds s: $text bytes of text, <$(cat "$scratch/err")>"
        fi
    done
fi

# the model that ran is told with the figures, and only there
run run -m "$demo" Once -n 1 --temp 0 --stats
expect_status 0
equal 'the model in --stats' "$(grep '^model ' "$scratch/err")" "model       $demo"
run run -m "$demo" Once -n 1 --temp 0 --stats --json
expect_status 0
expect_stderr ''
run run -m "$demo" Once -n 1 --temp 0
expect_stderr ''

# control characters in JSON, the last of them too
i=1
while [ $i -lt 32 ]; do
    # shellcheck disable=SC2059 # the format is the text
    printf "$(printf '\\%03o' $i)"
    i=$((i + 1))
done >"$scratch/controls"
run tokenize -m "$demo" --json "$(printf 'a\037b')"
expect_status 0
expect_json
expect_in out '\u001f'
run tokenize -m "$demo" --json -f "$scratch/controls"
expect_status 0
expect_json
equal 'control characters as they are' "$(tr -d '\012\040-\377' <"$scratch/out" | wc -c | tr -d ' ')" 0
equal 'lines' "$(wc -l <"$scratch/out" | tr -d ' ')" 1
for escape in '\u0001' '\t' '\n' '\u001e' '\u001f'; do expect_in out "$escape"; done

# help and version
for words in --version -V version 'run --version' 'version --version'; do
    # shellcheck disable=SC2086 # two words
    run $words
    expect_status 0
    expect_stderr ''
    checks=$((checks + 1))
    grep -Eqx 'shohin [0-9]+\.[0-9]+\.[0-9]+' "$scratch/out" || fail "$last: printed <$(cat "$scratch/out")>"
done
run --help
expect_status 0
cp "$scratch/out" "$scratch/plain"
for words in help -h; do
    run "$words"
    expect_status 0
    same plain out "shohin $words"
done
for command in run info tokenize score help version; do
    checks=$((checks + 1))
    grep -q "^  $command " "$scratch/plain" || fail "shohin --help does not list $command"
    run "$command" --help
    expect_status 0
    expect_stderr ''
    expect_in out "Usage: shohin $command [options]"
    expect_in out '  -h, --help '
    cp "$scratch/out" "$scratch/help"
    run help "$command"
    same help out "help of $command"
    run "$command" -h --frobnicate # help is shown whatever follows
    expect_status 0
    same help out "help of $command"
done
run run --help
expect_in out '  -t, --threads N         threads that compute [1 to 1024; default: one for each core]'
expect_in out '[auto, '
for later in --chat --draft --session; do
    checks=$((checks + 1))
    ! grep -q -e "$later" "$scratch/out" || fail "run --help offers $later"
done

finish
