#!/bin/sh
# check-scripts.sh: the shell scripts are sound: sh reads them, and shellcheck, where it is here, finds nothing.
set -eu
cd "$(dirname "$0")/.."

status=0
scripts=$(mktemp)
trap 'rm -f "$scripts"' EXIT
find . \( -path ./build -o -name node_modules \) -prune -o -name '*.sh' -print |
    sed 's@^\./@@' | LC_ALL=C sort >"$scripts"
while IFS= read -r script; do
    case $(head -n 1 "$script") in
    '#!/bin/sh') sh -n "$script" || status=1 ;;
    *)
        echo "$script:1: does not begin with #!/bin/sh"
        status=1
        ;;
    esac
done <"$scripts"
if command -v bash >/dev/null 2>&1; then
    bash -n .ci/run || status=1
fi

if command -v shellcheck >/dev/null 2>&1; then
    # A lib.sh is read by those that source it, and judged there.
    grep -v '/lib\.sh$' "$scripts" | tr '\n' '\0' | xargs -0 shellcheck -x -a -P SCRIPTDIR -- .ci/run || status=1
else
    echo "shellcheck is not here: sh alone has read the scripts"
fi
[ "$status" -ne 0 ] || echo "$(wc -l <"$scripts") scripts are sound"
exit "$status"
