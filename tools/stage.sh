#!/bin/sh
# stage.sh: runs a command and says how long it took: `tools/stage.sh NAME COMMAND...`. Its status is the command's.
set -u
name=$1
shift
begun=$(date +%s)
printf '==== %s\n' "$name"
"$@"
status=$?
seconds=$(($(date +%s) - begun))
if [ "$status" -eq 0 ]; then
    printf '==== %s: done in %d s\n' "$name" "$seconds"
else
    printf '==== %s: FAILED after %d s (status %d)\n' "$name" "$seconds" "$status"
fi
exit "$status"
