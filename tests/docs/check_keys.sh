#!/usr/bin/env bash
# Fails if a file of the format's reader or writer has a key of its own: check_keys.sh SOURCES
# All keys come from keys.def, columns.def and summary.def, which the page docs/snapshot-format.md prints.
set -u
cd "$1/snapshot/format"
failed=0

# A key that is written as a text, but for those of objects whose keys are data.
written=$(grep -nE 'tide_json_key(_[a-z]+)?\([^,]*, *"' ./*.c)
# An object that is read without their lists: every other file asks one of these.
read=$(grep -lE 'tide_json_next_field\(' ./*.c | grep -vE '/(json_reader|json_find|reader_keys|reader_tables|reader_events|reader_state)\.c$')
for place in $written $read; do
    printf 'snapshot/format: a key outside of the .def files: %s\n' "$place" >&2
    failed=1
done
# These ask for the keys of their tables, and have no names of their own.
if grep -nE '"[a-z_]+"' reader_keys.c reader_tables.c reader_events.c reader_state.c | grep -vE '#include|"(small|large)"' >&2; then
    echo 'snapshot/format: a key by name in a reader of columns' >&2
    failed=1
fi
[ "$failed" -eq 0 ] && echo "readers and writers have the keys of the .def files alone"
