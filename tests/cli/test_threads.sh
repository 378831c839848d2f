#!/bin/sh
# The number of threads changes nothing in what is written. Short, so that ThreadSanitizer can run it too.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

for threads in 1 2 3 5; do
    run run -p 'Once upon a time there was a dog' -n 5 --temp 0 -t "$threads"
    expect_status 0
    cp "$scratch/out" "$scratch/by-$threads"
    same "by-$threads" by-1 "$threads threads and one"
done
run score -p 'Once upon a time' --json -t 1
expect_status 0
cp "$scratch/out" "$scratch/one"
run score -p 'Once upon a time' --json -t 4
expect_status 0
same out one 'scores by 4 threads and by one'

finish
