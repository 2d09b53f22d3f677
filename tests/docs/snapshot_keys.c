/* Prints the tables of keys of docs/reference/snapshot-format.md and docs/reference/digest.md:
 * snapshot_keys document|summary|columns|digest
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What a table of the page says of a kind of value. */
#define TEXT "text", ""
#define SHOWN_TEXT "text", "`\"\"`"
#define COUNT "integer from 0", ""
#define SMALL "0 to 255", ""
#define ADDRESS "integer from 0", ""
#define NUMBER "integer from -1", ""
#define SHOWN_NUMBER "integer from -1", "-1"
#define SHOWN_INTEGER "integer", "-1"
#define SHOWN_BOOLEAN "true, false", "false"
#define SHOWN_REAL "number", "`null`: -1"
#define HANDLE "64 bits", "see [below](#odd-values)"

/* The same of the values of a column. */
#define VALUES_INDEX "-1 to 2^32 - 2", ""
#define VALUES_ROW "0 to 2^32 - 2", ""
#define VALUES_BYTES "0 to 2^63 - 1", ""
#define VALUES_COUNT "0 to 2^63 - 1", ""
#define VALUES_POSITIVE "1 to 2^63 - 1", ""
#define VALUES_KNOWN "-1 to 2^63 - 1", ""
#define VALUES_DURATION "-2 to 2^63 - 1", ""
#define VALUES_NAMED "0 to 254", ""
#define VALUES_BYTE "0 to 255", ""
#define VALUES_SHORT "0 to 65,535", ""
#define VALUES_LINE "0 to 2^31 - 1", "0, and not counted if it is an integer"
#define VALUES_FLAG "0, 1", "0"
#define VALUES_ORDINAL "-1 to 2^31 - 1", "-1"
#define VALUES_CERTAINTY "0 to 2", "0"

#define PRESENCE_OF_REQUIRED "required"
#define PRESENCE_OF_OPTIONAL ""
#define PRESENCE_OF_IF_KNOWN "if known"
#define PRESENCE_OF_DERIVED "derived"

#define ENCODING_OF_PLAIN ""
#define ENCODING_OF_DELTA ", as differences"
#define ENCODING_OF_ADDRESS ", as differences in units"

#define DIGEST_NUMBER NUMBER
#define DIGEST_COUNT COUNT
#define DIGEST_SIGNED "integer", ""
#define DIGEST_TEXT "text", ""
#define DIGEST_CUT_TEXT "text", ""

typedef struct row {
    const char *name;
    const char *values; /* NULL: the row begins the table of the place NAME */
    const char *odd, *encoding, *presence, *meaning;
} row;

#define OBJECT(object, type, place) {place, NULL, "", "", "", ""},
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {#key, kind, "", PRESENCE_OF_##presence, meaning},
#define PART(object, key, shape, presence, meaning)                                                \
    {#key, shape, "", "", PRESENCE_OF_##presence, meaning},
#define WRITTEN(object, key, shape, meaning) {#key, shape, "", "", PRESENCE_OF_DERIVED, meaning},
#define END(object)
static const row DOCUMENT[] = {
#include "snapshot/format/keys.def"
};

#define OBJECT(object, type, place) {place, NULL, "", "", "", ""},
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {#key, kind, "", PRESENCE_OF_##presence, meaning},
#define WRITTEN(object, key, shape, meaning) {#key, shape, "", "", PRESENCE_OF_DERIVED, meaning},
#define END(object)
static const row SUMMARY[] = {
#include "snapshot/format/summary.def"
};

#define TABLE(table, type) {"`" #table "`", NULL, "", "", "", ""},
#define COLUMN(table, key, member, values, how, presence, meaning)                                 \
    {#key, VALUES_##values, ENCODING_OF_##how, PRESENCE_OF_##presence, meaning},
#define ARRAY COLUMN /* no parameters: those are not to be expanded first */
#define NARROW COLUMN
#define BESIDE(table, key, values, presence, meaning)                                              \
    {#key, VALUES_##values, "", PRESENCE_OF_##presence, meaning},
#define DERIVED(table, key, meaning) {#key, "integer", "", "", PRESENCE_OF_DERIVED, meaning},
#define END(table)
static const row COLUMNS[] = {
#include "snapshot/format/columns.def"
};

#define OBJECT(object, type, place) {place, NULL, "", "", "", ""},
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {#key, DIGEST_##kind, "", PRESENCE_OF_##presence, meaning},
#define PART(object, key, shape, presence, meaning)                                                \
    {#key, shape, "", "", PRESENCE_OF_##presence, meaning},
#define END(object)
static const row DIGEST[] = {
#include "snapshot/ranks/digest.def"
};

/* `has_odd`: odd values are read, too. */
static void print(const row *rows, size_t n, bool has_odd) {
    for (size_t i = 0; i < n; i++) {
        if (rows[i].values == NULL) {
            if (rows[i].name[0] != '\0') {
                printf("%s### %s\n\n", i > 0 ? "\n" : "", rows[i].name);
            }
            printf(has_odd
                       ? "| key | value | in a file | if odd | meaning |\n|---|---|---|---|---|\n"
                       : "| key | value | in a file | meaning |\n|---|---|---|---|\n");
        } else {
            bool is_skipped = strcmp(rows[i].presence, PRESENCE_OF_DERIVED) == 0;
            printf("| `%s` | %s%s | %s |", rows[i].name, rows[i].values, rows[i].encoding,
                   rows[i].presence);
            if (has_odd) {
                printf(" %s |", is_skipped ? "" : rows[i].odd);
            }
            printf(" %s |\n", rows[i].meaning);
        }
    }
}

int main(int n_words, char **words) {
    const char *part = n_words == 2 ? words[1] : "";
    if (strcmp(part, "document") == 0) {
        print(DOCUMENT, sizeof(DOCUMENT) / sizeof(DOCUMENT[0]), true);
    } else if (strcmp(part, "summary") == 0) {
        print(SUMMARY, sizeof(SUMMARY) / sizeof(SUMMARY[0]), true);
    } else if (strcmp(part, "columns") == 0) {
        print(COLUMNS, sizeof(COLUMNS) / sizeof(COLUMNS[0]), true);
    } else if (strcmp(part, "digest") == 0) {
        print(DIGEST, sizeof(DIGEST) / sizeof(DIGEST[0]), false);
    } else {
        fprintf(stderr, "usage: snapshot_keys document|summary|columns|digest\n");
        return 2;
    }
    return 0;
}
