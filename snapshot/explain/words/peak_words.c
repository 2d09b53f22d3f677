#include "snapshot/explain/words/peak_words.h"

#include <stdbool.h>
#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/document/categories.h"

#define LEAST_LINE 0.04   /* of the peak: a place that is named */
#define LEAST_REST 0.02   /* of the peak: a remainder that is named */
#define LEAST_KIND 0.03   /* of the peak: a kind that is named */
#define MOST_BACKWARD 0.6 /* of a place: mostly its backward pass */
#define COMMON_KIND 0.5   /* of a place: mostly one kind */
#define WHOLE_KIND 0.95   /* of a place: all of it is one kind */

/* The category of what is from before the recording, parameters or not. */
static const char OLDER[] = "parameter_or_older";

enum { MOST_LINES = 3, MOST_KINDS = 4, KIND_TEXT = TIDE_BYTES_TEXT + 128 };

/* "optimizer state"; `text` has room for a category's own name. */
static const char *kind_words(const tide_snapshot *snapshot, size_t category,
                              char text[KIND_TEXT]) {
    tide_text to = tide_text_in(text, KIND_TEXT);
    const char *name = tide_snapshot_category(snapshot, category);
    if (category < TIDE_N_CATEGORIES) {
        return tide_category_words((int)category);
    }
    if (strcmp(name, OLDER) == 0) {
        return "memory from before the recording";
    }
    tide_text_add(&to, "%s", strcmp(name, "buffer") == 0 ? "buffers" : name);
    for (char *at = text; *at != '\0'; at++) {
        *at = (char)(*at == '_' ? ' ' : *at);
    }
    return text;
}

/* The category with most of a place's bytes; TIDE_UNKNOWN if it has not half of them. */
static size_t common_category(const tide_peak_line *line) {
    for (size_t i = 0; i < TIDE_MAX_CATEGORIES; i++) {
        if ((double)line->by_category[i] > COMMON_KIND * (double)line->bytes) {
            return i;
        }
    }
    return TIDE_UNKNOWN;
}

/* Whether the line's blocks are mostly of the backward pass of what the line computes. */
static bool is_backward(const tide_peak_line *line) {
    return line->place.kind == TIDE_PLACE_LINE &&
           (double)line->backward_bytes > MOST_BACKWARD * (double)line->bytes;
}

/* " of parameters", ", mostly parameters,", or nothing. */
static void add_kind(const tide_facts *facts, const tide_peak_line *line, tide_text *to) {
    char text[KIND_TEXT];
    size_t category = common_category(line);
    bool is_older = strcmp(tide_snapshot_category(facts->snapshot, category), OLDER) == 0;
    if (category == TIDE_UNKNOWN || line->place.kind == TIDE_PLACE_BEFORE || is_older) {
        return;
    }
    const char *words = kind_words(facts->snapshot, category, text);
    if ((double)line->by_category[category] >= WHOLE_KIND * (double)line->bytes) {
        tide_text_add(to, " of %s", words);
    } else if (!is_backward(line)) {
        tide_text_add(to, ", mostly %s,", words);
    }
}

static const char *joint_of(const tide_peak_line *line) {
    bool is_operation =
        line->place.kind == TIDE_PLACE_NODE || line->place.kind == TIDE_PLACE_OPERATION;
    return line->place.kind == TIDE_PLACE_BEFORE ? " " : is_operation ? " in " : " at ";
}

/* " (12 x up [8192, 3072] float32)", the tensors that make up most of the line. */
static void add_tensor(const tide_facts *facts, const tide_peak_line *line, tide_text *to) {
    if (line->tensor == TIDE_NONE ||
        (double)line->tensor_bytes <= COMMON_KIND * (double)line->bytes) {
        return;
    }
    bool is_whole = (double)line->tensor_bytes >= WHOLE_KIND * (double)line->bytes;
    tide_text_add(to, " (%s", is_whole ? "" : "mostly ");
    if (line->n_tensor_blocks > 1) {
        tide_text_add(to, "%zu x ", line->n_tensor_blocks);
    }
    tide_text_add(to, "%s)", tide_snapshot_text(facts->snapshot, line->tensor));
}

/* " at LM.forward (c15.py:15), mostly its backward pass (9.27 GiB inferred)" */
static void add_place(const tide_facts *facts, const tide_peak_line *line, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    tide_text_add(to, "%s", joint_of(line));
    tide_place_add(facts, &line->place, to);
    add_tensor(facts, line, to);
    if (is_backward(line)) {
        tide_text_add(to, ", mostly its backward pass");
    }
    if (line->inferred_bytes > 0) {
        tide_text_add(to, " (%s inferred)", tide_bytes_format(line->inferred_bytes, bytes));
    }
}

/* "13.91 GiB at LM.forward (c15.py:15), mostly its backward pass" */
static void add_line(const tide_facts *facts, const tide_peak_line *line, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    tide_text_add(to, "%s", tide_bytes_format(line->bytes, bytes));
    add_kind(facts, line, to);
    add_place(facts, line, to);
}

static size_t count_named(const tide_peak_lines *lines) {
    size_t n = lines->n_lines > 0;
    while (n < lines->n_lines && n < MOST_LINES &&
           (double)lines->lines[n].bytes >= LEAST_LINE * (double)lines->bytes) {
        n++;
    }
    return n;
}

/* "Nearly all of the peak, 23.47 GiB, is at pair (c23.py:5)." */
static void add_only(const tide_facts *facts, const tide_peak_line *line, int64_t bytes_of_all,
                     tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    bool is_all = line->bytes == bytes_of_all;
    tide_text_add(to, "%s of the peak, %s, is", is_all ? "All" : "Nearly all",
                  tide_bytes_format(bytes_of_all, bytes));
    add_place(facts, line, to);
    tide_text_add(to, ".");
}

void tide_peak_words_add(const tide_facts *facts, const tide_peak_lines *lines, const char *when,
                         tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    size_t n = count_named(lines);
    int64_t rest = lines->bytes;
    if (n == 0) {
        return;
    }
    if (when == NULL && n == 1 &&
        (double)(rest - lines->lines[0].bytes) <= LEAST_REST * (double)rest) {
        add_only(facts, &lines->lines[0], rest, to);
        return;
    }
    tide_text_add(to, when != NULL ? "%s allocated %s: " : "The peak, %s, is%s ",
                  tide_bytes_format(rest, bytes), when != NULL ? when : "");
    for (size_t i = 0; i < n; i++) {
        tide_text_add(to, "%s", i > 0 ? "; " : "");
        add_line(facts, &lines->lines[i], to);
        rest -= lines->lines[i].bytes;
    }
    if ((double)rest > LEAST_REST * (double)lines->bytes) {
        tide_text_add(to, "; %s elsewhere", tide_bytes_format(rest, bytes));
    }
    tide_text_add(to, ".");
}

/* The category with the most bytes below a bound, the first of equals that is not in `done`. */
static size_t next_kind(const tide_peak_lines *lines, const bool done[TIDE_MAX_CATEGORIES]) {
    size_t found = TIDE_MAX_CATEGORIES;
    for (size_t i = 0; i < TIDE_MAX_CATEGORIES; i++) {
        if (!done[i] && lines->by_category[i] > 0 &&
            (found == TIDE_MAX_CATEGORIES || lines->by_category[i] > lines->by_category[found])) {
            found = i;
        }
    }
    return found;
}

void tide_peak_words_add_kinds(const tide_facts *facts, const tide_peak_lines *lines,
                               tide_text *to) {
    bool done[TIDE_MAX_CATEGORIES] = {false};
    char words[KIND_TEXT * MOST_KINDS];
    char bytes[TIDE_BYTES_TEXT];
    char text[KIND_TEXT];
    tide_text list = tide_text_in(words, sizeof(words));
    size_t n = 0;
    for (; n < MOST_KINDS; n++) {
        size_t kind = next_kind(lines, done);
        if (kind == TIDE_MAX_CATEGORIES ||
            (double)lines->by_category[kind] < LEAST_KIND * (double)lines->bytes) {
            break;
        }
        done[kind] = true;
        tide_text_add_item(&list, ", ", "%s of %s",
                           tide_bytes_format(lines->by_category[kind], bytes),
                           kind_words(facts->snapshot, kind, text));
    }
    if (n > 1) {
        tide_text_add(to, "By kind: %s.", words);
    }
}
