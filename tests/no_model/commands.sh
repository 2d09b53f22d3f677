#!/usr/bin/env bash
# What a build without our own model prints: commands.sh TIDEMARK
set -u
tidemark=$1
failures=0
fail() {
    printf 'no_model: %s\n' "$1" >&2
    failures=$((failures + 1))
}
remedy='this build has no model of its own; build with -DTIDEMARK_MODEL=ON'

# refuses STATUS COMMAND...: the command ends with that status and names the remedy.
refuses() {
    local status=$1 text
    shift
    text=$("$tidemark" "$@" 2>&1)
    [ $? -eq "$status" ] || fail "tidemark $*: another exit status than $status: $text"
    [[ $text == *"$remedy"* ]] || fail "tidemark $*: it does not name the remedy: $text"
}
for command in profile forecast study bench check-reference; do
    refuses 2 "$command"
    refuses 2 help "$command"
done
refuses 2 fit --size small
refuses 2 sweep --context 128,512
refuses 1 fit --device virtual:h100-80
refuses 1 sweep
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
refuses 1 compare "$folder/absent.json" pytorch:2026

# Help, manual page and completion have only the commands for programs and snapshots.
for text in --help --manual --completion; do
    "$tidemark" "$text" >"$folder/text" || fail "$text fails"
    grep -q replay "$folder/text" || fail "$text does not name replay"
    ! grep -qE "own transformer|tidemark profile|check.*reference|--size|d.?-model|OMP_NUM_THREADS" "$folder/text" ||
        fail "$text names the model: $(grep -m 1 -E "own transformer|tidemark profile|check.*reference|--size|d.?-model|OMP_NUM" "$folder/text")"
done
for command in fit sweep; do
    "$tidemark" "$command" --help >"$folder/text" || fail "$command --help fails"
    grep -q -- --max-step-ms "$folder/text" || grep -q -- --set "$folder/text" || fail "$command --help names no option for a command"
    ! grep -qE -- '--(size|d-model|attention|emulate)' "$folder/text" || fail "$command --help names options of the model"
done
"$tidemark" devices >"$folder/text" || fail "devices fails"
grep -q 'virtual' "$folder/text" || fail "devices lists no virtual device"
[ "$failures" -eq 0 ]
