#!/usr/bin/env bash
# The tarball, unpacked in one folder and moved to another: tarball.sh TARBALL WORK
set -eu
tarball=$(realpath "$1")
work=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
rm -rf "$work"
mkdir -p "$work/first"
cd "$work"
tar -C first -xzf "$tarball"
mv "first/$(basename "$tarball" .tar.gz)" "moved to here"
place="$work/moved to here"
needs_only_glibc "$place" readelf
for file in share/man/man1/tidemark.1 share/bash-completion/completions/tidemark share/tidemark/viewer.html LICENSE; do
    [ -s "$place/$file" ] || fail "$file is missing"
done
bare() { env -i PATH=/usr/bin:/bin HOME="$work" LC_ALL=C "$place/bin/tidemark" "$@"; }
bare profile --size small --device virtual --layers 2 --context 64 -o own.json.gz >/dev/null 2>profile.txt || fail "$(cat profile.txt)"
bare explain own.json.gz >explain.txt && has explain.txt '^The peak, ' "explain has no answer"
bare view own.json.gz -o own.html >/dev/null && has own.html '</html>' "view wrote no page"
bare_program >bare.py
bare run --device virtual:h100-80 -- python3 bare.py >run.txt 2>&1 || fail "$(cat run.txt)"
has run.txt '^84929347584$' "the program does not see the card"
passed "the tarball works from another folder: profile, explain, view and run"
printf '%d passed, 0 failed\n' "$n_passed"
