#!/usr/bin/env bash
# Fails if a file of a format's reader or writer has a key of its own: check_keys.sh SOURCES
# All keys come from the .def files, whose tables docs/reference/snapshot-format.md and docs/reference/digest.md have.
set -u
cd "$1/snapshot"
failed=0

# Words in quotes that are values or places of messages.
VALUES='"(small|large|nan|inf)"|fail_untranslated\(|is_action'
if grep -nE '"[a-z_]+"' format/reader*.c format/writer*.c ranks/digest_reader*.c ranks/digest_writer*.c |
    grep -vE "#include|$VALUES" >&2; then
    echo 'snapshot: a key outside of the .def files' >&2
    failed=1
fi
# Objects are read by these files alone, which have no list of keys.
if grep -lE 'tide_json_next_field\(' format/*.c ranks/*.c |
    grep -vE '/(json_reader|json_find|reader_keys|reader_tables|reader_events|reader_state|digest_reader)\.c$' >&2; then
    echo 'snapshot: an object that is read without a .def file' >&2
    failed=1
fi
[ "$failed" -eq 0 ] && echo "readers and writers have the keys of the .def files alone"
