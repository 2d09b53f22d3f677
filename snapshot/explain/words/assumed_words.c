#include "snapshot/explain/words/assumed_words.h"

#include <string.h>

#include "common/text/bytes.h"
#include "common/text/count.h"
#include "common/text/plural.h"

/* The words for a kind of value. */
static const struct {
    const char *what;
    const char *subject; /* of a sentence, before the line of the program */
    const char *unit, *units;
    const char *function, *verb; /* what gives so many units: "NMS keeps" */
} KINDS[] = {
    {"mask", "The mask", "row", "rows", "the mask", "gives"},
    {"nonzero", "The result of nonzero", "row", "rows", "nonzero", "gives"},
    {"unique values", "The number of unique values", "value", "values", "unique", "gives"},
    {"detections", "The number of detections that NMS keeps", "detection", "detections", "NMS",
     "keeps"},
};

enum { N_KINDS = sizeof(KINDS) / sizeof(KINDS[0]) };

/* N_KINDS: another kind. */
static size_t kind_of(const tide_snapshot_assumed *row) {
    size_t i = 0;
    while (i < N_KINDS && strcmp(KINDS[i].what, row->what) != 0) {
        i++;
    }
    return i;
}

/* A place is a line, or a part of the run without one: "the backward pass". */
static void add_place(const tide_snapshot_assumed *row, tide_text *to) {
    bool is_part = strncmp(row->place, "the ", 4) == 0 || strncmp(row->place, "a ", 2) == 0;
    tide_text_add(to, " %s %s", is_part ? "in" : "at",
                  row->place[0] != '\0' ? row->place : "an unknown line");
}

static void add_rows(const tide_snapshot_assumed *row, tide_text *to) {
    char least[TIDE_COUNT_TEXT];
    char most[TIDE_COUNT_TEXT];
    char possible[TIDE_COUNT_TEXT];
    char each[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    size_t kind = kind_of(row);
    const char *unit = kind < N_KINDS ? KINDS[kind].unit : "row";
    const char *units = kind < N_KINDS ? KINDS[kind].units : "rows";
    if (kind < N_KINDS) {
        tide_text_add(to, "%s", KINDS[kind].subject);
    } else {
        tide_text_add(to, "The %s", row->what);
    }
    add_place(row, to);
    tide_text_add(to, " is assumed: %s", tide_count_format(row->given_least, least));
    if (row->given_most != row->given_least) {
        tide_text_add(to, " to %s", tide_count_format(row->given_most, most));
    }
    tide_text_add(to, " of %s %s", tide_count_format(row->possible, possible),
                  tide_plural((uint64_t)row->possible, unit, units));
    if (row->all_bytes > 0 && row->row_bytes > 0) {
        tide_text_add(to, "; each %s more takes %s, all of them %s more", unit,
                      tide_bytes_format(row->row_bytes, each),
                      tide_bytes_format(row->all_bytes, all));
    } else if (row->all_bytes > 0) {
        tide_text_add(to, "; all %s take %s more", units, tide_bytes_format(row->all_bytes, all));
    }
    tide_text_add(to, ".");
}

/* A number, a truth value, or values. */
static void add_value(const tide_snapshot_assumed *row, tide_text *to) {
    char n[TIDE_COUNT_TEXT];
    bool are_many = strncmp(row->what, "values ", 7) == 0;
    if (are_many) {
        tide_text_add(to, "V%s", row->what + 1);
    } else {
        tide_text_add(to, "A %s", row->what[0] != '\0' ? row->what : "value");
    }
    add_place(row, to);
    tide_text_add(to, " %s assumed", are_many ? "are" : "is");
    if (strcmp(row->what, "truth value") == 0) {
        tide_text_add(to, "%s",
                      row->given_least != row->given_most ? " true or false"
                      : row->given_most != 0              ? " true"
                                                          : " false");
    }
    if (row->n_times > 1) {
        tide_text_add(to, " (%s times)", tide_count_format(row->n_times, n));
    }
    tide_text_add(to, "; what the program decides by %s may differ.", are_many ? "them" : "it");
}

void tide_assumed_words_add(const tide_snapshot_assumed *row, tide_text *to) {
    if (row->possible > 0) {
        add_rows(row, to);
    } else {
        add_value(row, to);
    }
}

void tide_assumed_words_add_all(size_t n, tide_text *to) {
    if (n > TIDE_ASSUMED_SENTENCES) {
        tide_text_add(
            to, "%zu values are assumed in all; `tidemark explain --format json` lists them.", n);
    }
}

void tide_assumed_words_add_limit(const tide_assumed_limit *limit, tide_text *to) {
    char most[TIDE_COUNT_TEXT];
    char all[TIDE_COUNT_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    const tide_snapshot_assumed *row = limit->row;
    if (limit->fits_with_all) {
        return;
    }
    if (row == NULL) {
        tide_text_add(to,
                      " with the rows that are assumed; with all rows of %zu reads, which take %s "
                      "more where %s are left, it does not",
                      limit->n_reads, tide_bytes_format(limit->all_bytes, bytes),
                      tide_bytes_format(limit->left_bytes, left));
        return;
    }
    size_t kind = kind_of(row);
    if (kind < N_KINDS) {
        tide_text_add(to, " if %s", KINDS[kind].function);
    } else {
        tide_text_add(to, " if the %s", row->what);
    }
    add_place(row, to);
    const char *unit = kind < N_KINDS ? KINDS[kind].unit : "row";
    const char *units = kind < N_KINDS ? KINDS[kind].units : "rows";
    tide_text_add(to, " %s at most %s %s; with all %s it does not",
                  kind < N_KINDS ? KINDS[kind].verb : "gives",
                  tide_count_format(limit->most_rows, most),
                  tide_plural((uint64_t)limit->most_rows, unit, units),
                  tide_count_format(row->possible, all));
}
