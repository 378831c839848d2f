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
refused "--ctx-size is called -c, --ctx here; $r" run --ctx-size 512
refused "--n-predict is called -n, --predict here; $r" run --n-predict=5
refused "--temperature is called --temp here; $r" run --temperature 1
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

# options of llama.cpp and ollama that are not here: never cut into a short option and a value
refused "-hf: nothing is downloaded; fetch the GGUF file and give it by -m; $r" run -hf some/model -p x
refused "-mu: nothing is downloaded; fetch the GGUF file and give it by -m; $r" run -mu http://localhost/x -p x
refused "-cnv: there is no chat yet: 'run' continues a text; $r" run -cnv
refused "-sys: there is no chat yet: 'run' continues a text; $r" run -sys 'you are' -p x
refused "-md: there is no speculation yet; leave it out; $r" run -md draft.gguf Once
refused "-ctk: keys and values are kept as the device keeps them; leave it out; $r" run -ctk q8_0 Once
refused "-np: there is no server yet; leave it out; $r" run -np 4 Once
refused "-hx is not an option; $r" run -hx
refused "--num-ctx is called -c, --ctx here; $r" run --num-ctx 512 Once
refused "--sessin is not an option; $r" run --sessin f Once
run serve
expect_status 2
expect_stderr "shohin: \"serve\" is not there yet; 'run' continues a text; see 'shohin --help'"

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
