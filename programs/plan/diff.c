#include "programs/plan/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/files/text_file.h"

enum { MOST_BYTES = 16 << 20, CONTEXT = 3, PATH_BYTES = 4096 };

void tide_plan_diff_init(tide_plan_diff *diff) {
    *diff = (tide_plan_diff){.mem = tide_hostmem_default()};
}

void tide_plan_diff_fini(tide_plan_diff *diff) {
    for (size_t i = 0; i < diff->n; i++) {
        diff->mem->release(diff->mem->ctx, diff->rows[i].path);
        diff->mem->release(diff->mem->ctx, diff->rows[i].text);
    }
    diff->mem->release(diff->mem->ctx, diff->rows);
    *diff = (tide_plan_diff){.n = 0};
}

/* ---- growing texts ---- */

typedef struct growing {
    const tide_hostmem *mem;
    char *text; /* owned; NULL: empty */
    size_t n, capacity;
    bool no_memory;
} growing;

static void add(growing *to, const char *text, size_t n) {
    char *grown = tide_hostmem_grow(to->mem, to->text, &to->capacity, to->n + n + 1, 1);
    if (grown == NULL) {
        to->no_memory = true;
        return;
    }
    to->text = grown;
    memcpy(to->text + to->n, text, n);
    to->n += n;
    to->text[to->n] = '\0';
}

static void add_text(growing *to, const char *text) {
    add(to, text, strlen(text));
}

/* ---- where lines go ---- */

static size_t count_lines(const char *text) {
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n' || text[1] == '\0';
    }
    return n;
}

/* The beginning of a line of a text, from 1; NULL past the last. */
static const char *line_at(const char *text, size_t number) {
    for (size_t i = 1; i < number && *text != '\0'; i++) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return *text != '\0' ? text : NULL;
}

/* Closing brackets of a line minus opening ones. */
static long closed_by(const char *line) {
    long n = 0;
    for (size_t i = 0; line[i] != '\0' && line[i] != '\n'; i++) {
        n += strchr(")]}", line[i]) != NULL;
        n -= strchr("([{", line[i]) != NULL;
    }
    return n;
}

/* The indentation of the statement that ends in a line: it begins where its brackets are closed. */
static size_t indentation_of(const char *text, size_t number, const char **ret_line) {
    long open = 0;
    *ret_line = "";
    for (size_t i = number; i > 0; i--) {
        const char *line = line_at(text, i);
        *ret_line = line != NULL ? line : "";
        open += closed_by(*ret_line);
        if (open <= 0) {
            break;
        }
    }
    return strspn(*ret_line, " \t");
}

typedef struct place {
    char path[PATH_BYTES];
    size_t line;
    bool is_before;
} place;

/* "before train.py:52". */
static tide_status read_place(const char *text, size_t n, place *ret, tide_error *error) {
    static const char BEFORE[] = "before ";
    size_t n_before = strlen(BEFORE);
    ret->is_before = n > n_before && strncmp(text, BEFORE, n_before) == 0;
    text += ret->is_before ? n_before : 0;
    n -= ret->is_before ? n_before : 0;
    size_t colon = n;
    while (colon > 0 && text[colon - 1] != ':') {
        colon--;
    }
    if (colon < 2 || colon > sizeof(ret->path)) {
        return tide_fail(error, TIDE_UNSUPPORTED, "the place of a change is not known");
    }
    (void)snprintf(ret->path, sizeof(ret->path), "%.*s", (int)(colon - 1), text);
    ret->line = strtoull(text + colon, NULL, 10);
    if (ret->path[0] == '/' || strstr(ret->path, "..") != NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED, "%s is outside of the current folder", ret->path);
    }
    return TIDE_OK;
}

static tide_status indent(const tide_plan_diff *diff, const char *file, const place *at,
                          const char *lines, size_t n_lines, char **ret_text) {
    growing made = {.mem = diff->mem};
    const char *like = "";
    size_t n = indentation_of(file, at->line, &like);
    for (size_t i = 0; i < n_lines;) {
        size_t n_line = strcspn(lines + i, "\n");
        n_line = n_line < n_lines - i ? n_line : n_lines - i;
        add(&made, like, n_line > 0 ? n : 0);
        add(&made, lines + i, n_line);
        add_text(&made, "\n");
        i += n_line + 1;
    }
    *ret_text = made.text;
    return made.no_memory || made.text == NULL ? TIDE_NO_MEMORY : TIDE_OK;
}

static tide_status add_part(tide_plan_diff *diff, const char *where, size_t n_where,
                            const char *lines, size_t n_lines, tide_error *error) {
    place at = {.line = 0};
    char *file = NULL;
    TIDE_TRY(read_place(where, n_where, &at, error));
    if (tide_text_file_read(at.path, MOST_BYTES, &file, NULL, error) != TIDE_OK) {
        return TIDE_UNSUPPORTED;
    }
    size_t n_file = strlen(file);
    if (at.line >= count_lines(file) && n_file > 0 && file[n_file - 1] != '\n') {
        diff->mem->release(diff->mem->ctx, file);
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s has no newline at its end, where lines belong", at.path);
    }
    tide_plan_insertion *rows =
        tide_hostmem_grow(diff->mem, diff->rows, &diff->capacity, diff->n + 1, sizeof(*diff->rows));
    tide_status status = rows != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status == TIDE_OK) {
        diff->rows = rows;
        tide_plan_insertion *row = &rows[diff->n++];
        *row = (tide_plan_insertion){.path = tide_hostmem_text(diff->mem, at.path),
                                     .after = at.line - (at.is_before ? 1 : 0)};
        status = row->path != NULL ? indent(diff, file, &at, lines, n_lines, &row->text)
                                   : TIDE_NO_MEMORY;
    }
    diff->mem->release(diff->mem->ctx, file);
    return status;
}

tide_status tide_plan_diff_add(tide_plan_diff *diff, const char *lines, const char *where,
                               tide_error *error) {
    static const char AT[] = "# at ";
    if (strncmp(lines, AT, strlen(AT)) != 0) {
        return add_part(diff, where, strlen(where), lines, strlen(lines), error);
    }
    while (*lines != '\0') {
        const char *place_text = lines + strlen(AT);
        size_t n_place = strcspn(place_text, "\n");
        const char *body = place_text + n_place + (place_text[n_place] == '\n');
        const char *next = strstr(body, "\n# at ");
        size_t n_body = next != NULL ? (size_t)(next - body) : strlen(body);
        TIDE_TRY(add_part(diff, place_text, n_place, body, n_body, error));
        lines = next != NULL ? next + 1 : body + n_body;
    }
    return TIDE_OK;
}

/* ---- the patch ---- */

static int by_place(const void *a, const void *b) {
    const tide_plan_insertion *one = a;
    const tide_plan_insertion *other = b;
    int by_path = strcmp(one->path, other->path);
    return by_path != 0 ? by_path : (one->after > other->after) - (one->after < other->after);
}

/* Insertions of one file whose surroundings touch. */
typedef struct hunk {
    const tide_plan_insertion *rows;
    size_t n;
    size_t first, last; /* lines of the file that it shows, from 1; last is below first if none */
} hunk;

/* The lines of the file with `sign` before each. */
static void add_lines(growing *to, const char *text, size_t n_lines, char sign) {
    for (size_t i = 0; i < n_lines; i++) {
        size_t n = strcspn(text, "\n");
        add(to, &sign, 1);
        add(to, text, n);
        add_text(to, text[n] == '\n' ? "\n" : "\n\\ No newline at end of file\n");
        text += n + (text[n] == '\n');
    }
}

static void add_hunk(growing *to, const char *file, const hunk *of, size_t n_added_before) {
    char head[128];
    size_t n_shown = of->last + 1 - of->first;
    size_t n_added = 0;
    for (size_t i = 0; i < of->n; i++) {
        n_added += count_lines(of->rows[i].text);
    }
    (void)snprintf(head, sizeof(head), "@@ -%zu,%zu +%zu,%zu @@\n", of->first, n_shown,
                   of->first + n_added_before, n_shown + n_added);
    add_text(to, head);
    size_t line = of->first;
    for (size_t i = 0; i <= of->n; i++) {
        size_t end = i < of->n ? of->rows[i].after + 1 : of->last + 1;
        const char *text = line_at(file, line);
        add_lines(to, text != NULL ? text : "", end - line, ' ');
        line = end;
        if (i < of->n) {
            add_lines(to, of->rows[i].text, count_lines(of->rows[i].text), '+');
        }
    }
}

static hunk hunk_at(const tide_plan_insertion *rows, size_t n_rows, size_t n_lines) {
    hunk of = {.rows = rows, .n = 1};
    while (of.n < n_rows && rows[of.n].after <= rows[of.n - 1].after + (size_t)2 * CONTEXT) {
        of.n++;
    }
    size_t first = rows[0].after;
    size_t last = rows[of.n - 1].after + CONTEXT;
    of.first = first > CONTEXT ? first - CONTEXT + 1 : 1;
    of.last = last < n_lines ? last : n_lines;
    return of;
}

static tide_status add_file(growing *to, const tide_plan_insertion *rows, size_t n_rows,
                            tide_error *error) {
    char *file = NULL;
    size_t n_added = 0;
    TIDE_TRY(tide_text_file_read(rows[0].path, MOST_BYTES, &file, NULL, error));
    size_t n_lines = count_lines(file);
    add_text(to, "--- a/");
    add_text(to, rows[0].path);
    add_text(to, "\n+++ b/");
    add_text(to, rows[0].path);
    add_text(to, "\n");
    for (size_t i = 0; i < n_rows;) {
        hunk of = hunk_at(&rows[i], n_rows - i, n_lines);
        TIDE_ASSERT(of.first <= rows[i].after + 1);
        add_hunk(to, file, &of, n_added);
        for (size_t k = 0; k < of.n; k++) {
            n_added += count_lines(rows[i + k].text);
        }
        i += of.n;
    }
    to->mem->release(to->mem->ctx, file);
    return TIDE_OK;
}

/* A stable order: lines for one place stay in the order in which they were added. */
static void sort(tide_plan_diff *diff) {
    for (size_t i = 1; i < diff->n; i++) {
        for (size_t k = i; k > 0 && by_place(&diff->rows[k - 1], &diff->rows[k]) > 0; k--) {
            tide_plan_insertion swapped = diff->rows[k];
            diff->rows[k] = diff->rows[k - 1];
            diff->rows[k - 1] = swapped;
        }
    }
}

tide_status tide_plan_diff_text(tide_plan_diff *diff, char **ret_text, tide_error *error) {
    growing made = {.mem = diff->mem};
    tide_status status = TIDE_OK;
    add_text(&made, "");
    sort(diff);
    for (size_t i = 0; i < diff->n && status == TIDE_OK;) {
        size_t n = 1;
        while (i + n < diff->n && strcmp(diff->rows[i].path, diff->rows[i + n].path) == 0) {
            n++;
        }
        status = add_file(&made, &diff->rows[i], n, error);
        i += n;
    }
    if (status == TIDE_OK && made.no_memory) {
        status = TIDE_NO_MEMORY;
    }
    *ret_text = made.text;
    return status;
}
