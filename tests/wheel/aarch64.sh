#!/usr/bin/env bash
# The wheel for aarch64, run by qemu-user with the C library of the cross compiler: aarch64.sh WHEEL TARBALL SNAPSHOT WORK PROGRAM
# PROGRAM, that of x86-64, made SNAPSHOT: what it answers about it is what the one for aarch64 must answer.
set -eu
wheel=$(realpath "$1") tarball=$(realpath "$2") snapshot=$(realpath "$3")
work=$4
x86_64=$(realpath "$5")
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
case "$wheel" in
*manylinux_2_28_aarch64.whl) ;;
*) fail "$(basename "$wheel") is not for glibc 2.28 on aarch64" ;;
esac
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le 12000000 ] || fail "$(basename "$wheel") has $bytes bytes, more than 12 MB"
rm -rf "$work"
mkdir -p "$work/wheel" "$work/tarball"
cd "$work"
python3 -m zipfile -e "$wheel" wheel
tar -C tarball -xzf "$tarball"
chmod +x wheel/tidemark/bin/tidemark
needs_only_glibc wheel/tidemark aarch64-linux-gnu-readelf
[ -s wheel/tidemark_gpu/__init__.py ] || fail "tidemark_gpu is missing"
[ -s "$(echo wheel/*.data/data/share/man/man1/tidemark.1)" ] || fail "the manual page is missing"
[ -s wheel/tidemark/share/tidemark/viewer.html ] || fail "the page is missing"
cp "$snapshot" own.json.gz
for program in wheel/tidemark/bin/tidemark tarball/*/bin/tidemark; do
    arm() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$program" "$@"; }
    for command in "explain own.json.gz" "summary own.json.gz" "compare own.json.gz own.json.gz" "replay own.json.gz" "ranks own.json.gz" "dump own.json.gz" \
        "summary --format json own.json.gz" "export --to csv own.json.gz"; do
        status=0
        "$x86_64" $command >expected.txt 2>&1 || fail "$command fails on x86-64: $(head -n 5 expected.txt)" # two equal failures prove nothing
        arm $command >here.txt 2>&1 || status=$?
        [ "$status" -eq 0 ] || fail "$command: status $status: $(head -n 5 here.txt)"
        cmp -s expected.txt here.txt || fail "$command: another answer than on x86-64: $(diff expected.txt here.txt | head -n 5)"
    done
    arm view own.json.gz -o here.html >/dev/null && "$x86_64" view own.json.gz -o there.html >/dev/null
    cmp -s here.html there.html || fail "view writes another page than on x86-64"
    for command in run plan fit sweep; do
        status=0
        arm "$command" --device virtual:h100-80 -- python3 train.py >here.txt 2>&1 || status=$?
        [ "$status" -eq 2 ] && [ "$(wc -l <here.txt)" -eq 1 ] || fail "$command: status $status: $(cat here.txt)"
        has here.txt "^tidemark $command: it starts programs, and the virtual card and the recorder are for x86-64 only; " "$command"
        arm "$command" --help >here.txt || fail "$command has no help"
    done
    status=0
    arm profile --device virtual >here.txt 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "profile: status $status: $(cat here.txt)"
    has here.txt '^tidemark profile: this build has no model of its own' "profile"
done
passed "on aarch64, 9 commands that read files answer as on x86-64, and 5 that run something refuse; it has $bytes bytes"
printf '%d passed, 0 failed\n' "$n_passed"
