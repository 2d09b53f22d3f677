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

check run "$whole" "$out/checks/run" $with_torch
check integrations "$whole" "$out/checks/integrations"
check names "$whole" "$out/checks/names"
check tarball "$tarball" "$out/checks/tarball"
if [ -e "$(echo "$out"/dist/*_aarch64.whl)" ]; then
    check aarch64 "$out"/dist/*_aarch64.whl "$out"/dist/*-aarch64.tar.gz "$out/checks/tarball/own.json.gz" "$out/checks/aarch64" \
        "$out/checks/tarball/moved to here/bin/tidemark"
else
    echo "wheel: SKIPPED: aarch64: there is no wheel for it"
fi
check roots "$tarball" "$whole" "$out/roots" $with_torch
[ -z "$with_torch" ] || check first_answer "$whole" "$out/checks/first" "$with_torch"
echo "wheel: all checks took $((SECONDS - begin)) s"
