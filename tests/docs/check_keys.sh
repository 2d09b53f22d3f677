#!/usr/bin/env bash
# Fails if a file of a format's reader or writer has a key of its own: check_keys.sh SOURCES
# All keys come from the .def files, whose tables docs/snapshot-format.md and docs/digest.md have.
set -u
cd "$1/snapshot"
failed=0

# A key that is written as a text, but for those of objects whose keys are data.
written=$(grep -nE 'tide_json_key(_[a-z]+)?\([^,]*, *"' format/*.c ranks/digest*.c)
# An object that is read without their lists: every other file asks one of these.
read=$(grep -lE 'tide_json_next_field\(' format/*.c ranks/digest*.c | grep -vE '/(json_reader|json_find|reader_keys|reader_tables|reader_events|reader_state|digest_reader)\.c$')
while IFS= read -r place; do
    [ -z "$place" ] || { printf 'snapshot: a key outside of the .def files: %s\n' "$place" >&2; failed=1; }
done <<<"$written"$'\n'"$read"
# These ask for the keys of their tables, and have no names of their own.
if grep -nE '"[a-z_]+"' format/reader_{keys,tables,events,state}.c ranks/digest_reader_device.c | grep -vE '#include|"(small|large)"' >&2; then
    echo 'snapshot: a key by name in a reader of columns' >&2
    failed=1
fi
[ "$failed" -eq 0 ] && echo "readers and writers have the keys of the .def files alone"
