#!/bin/sh
# Holds the library against other programs that answer the same questions, installed from npm: token ids and text against
# Hugging Face's tokenizers, with the demo model's vocabulary and with that of Qwen3.
#
#   tests/crosscheck/run.sh [BUILD_DIR]     BUILD_DIR: a build of this tree (build/release)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/release}
library=$build/lib/libshohin.a
if [ ! -f "$library" ]; then
    echo "run.sh: there is no $library: build first, or give the build folder" >&2
    exit 1
fi

(cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --silent)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
# shellcheck disable=SC2046 # words
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -I"$root/include" -o "$work/tokenize_driver" "$here/tokenize_driver.c" "$library" \
    $(pkg-config --libs libpcre2-8 libutf8proc) -lpthread -lm
node "$here/check.mjs" "$work/tokenize_driver" "$work"
