#!/usr/bin/env bash
# All checks of what build.sh made: all.sh OUT [PYTHON]. PYTHON: an interpreter with PyTorch.
set -eu
out=$1
with_torch=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
begin=$SECONDS
whole=$(echo "$out"/dist/*_x86_64.whl) tarball=$(echo "$out"/dist/*-x86_64.tar.gz)

check() { # NAME ARGUMENT...
    local since=$SECONDS
    bash "$here/$1.sh" "${@:2}"
    echo "wheel: $1 took $((SECONDS - since)) s"
}

check run "$whole" "$out/work/run" $with_torch
check names "$whole" "$out/work/names"
check tarball "$tarball" "$out/work/tarball"
if [ -e "$(echo "$out"/dist/*_aarch64.whl)" ]; then
    check aarch64 "$out"/dist/*_aarch64.whl "$out"/dist/*-aarch64.tar.gz "$out/work/tarball/own.json.gz" "$out/work/aarch64" \
        "$out/work/tarball/moved to here/bin/tidemark"
else
    echo "wheel: SKIPPED: aarch64: there is no wheel for it"
fi
check roots "$tarball" "$whole" "$out/roots" $with_torch
[ -z "$with_torch" ] || check first_answer "$whole" "$out/work/first" "$with_torch"
echo "wheel: all checks took $((SECONDS - begin)) s"
