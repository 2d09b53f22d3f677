/* document_source.c - the text of the program's lines, which python/tidemark/source.py reports
 * under keys with the line and the file of each. */
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/document/document_internal.h"
#include "snapshot/document/source.h"

#define WHOLE "source.whole."
#define CUT "source.cut."

/* A reported line. Texts are borrowed from the log's. */
typedef struct reported {
    const char *file, *text;
    uint64_t line;
    bool is_cut;
} reported;

static bool read_key(const tide_recover_text *from, reported *ret) {
    bool is_cut = strncmp(from->key, CUT, strlen(CUT)) == 0;
    if (!is_cut && strncmp(from->key, WHOLE, strlen(WHOLE)) != 0) {
        return false;
    }
    char *end = NULL;
    const char *at = from->key + strlen(is_cut ? CUT : WHOLE);
    uint64_t line = strtoull(at, &end, 10);
    *ret = (reported){.file = end + 1, .text = from->value, .line = line, .is_cut = is_cut};
    return end > at && *end == '.' && line > 0 && line <= INT32_MAX &&
           strlen(from->value) <= TIDE_SOURCE_LINE_BYTES;
}

static int by_place(const void *left, const void *right) {
    const reported *a = left;
    const reported *b = right;
    int files = strcmp(a->file, b->file);
    return files != 0 ? files : (a->line > b->line) - (a->line < b->line);
}

static int by_row(const void *left, const void *right) {
    const tide_source_row *a = left;
    const tide_source_row *b = right;
    return a->file != b->file ? (a->file > b->file) - (a->file < b->file)
                              : (a->line > b->line) - (a->line < b->line);
}

/* Rows of the frames whose lines were reported, by file and line; several functions may share one
 * line. */
static void join(tide_snapshot *snapshot, const reported *lines, size_t n_lines,
                 tide_source_row *rows) {
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        const tide_frame_row *frame = &snapshot->frames[i];
        const reported wanted = {.file = tide_snapshot_text(snapshot, frame->file),
                                 .line = frame->line > 0 ? (uint64_t)frame->line : 0};
        const reported *found = bsearch(&wanted, lines, n_lines, sizeof(*lines), by_place);
        if (found != NULL && frame->file != TIDE_NONE) {
            rows[n++] = (tide_source_row){.file = frame->file,
                                          .line = wanted.line,
                                          .text = found->text,
                                          .is_cut = found->is_cut};
        }
    }
    qsort(rows, n, sizeof(*rows), by_row);
    snapshot->n_source = 0;
    for (size_t i = 0; i < n; i++) {
        if ((i == 0 || by_row(&rows[i - 1], &rows[i]) != 0) &&
            snapshot->n_source < TIDE_SOURCE_LINES) {
            rows[snapshot->n_source++] = rows[i];
        }
    }
    snapshot->source = rows;
}

tide_status tide_document_add_source(tide_snapshot *snapshot, const tide_recover_notes *notes) {
    reported *lines = tide_arena_alloc(&snapshot->arena, notes->n_texts, sizeof(*lines));
    size_t n_lines = 0;
    if (lines == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_texts; i++) {
        n_lines += read_key(&notes->texts[i], &lines[n_lines]);
    }
    if (n_lines == 0) {
        return TIDE_OK;
    }
    tide_source_row *rows = tide_arena_alloc(&snapshot->arena, snapshot->n_frames, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    qsort(lines, n_lines, sizeof(*lines), by_place);
    join(snapshot, lines, n_lines, rows);
    const char *omitted = tide_document_text(notes, "source.omitted");
    snapshot->n_source_omitted =
        omitted[0] >= '0' && omitted[0] <= '9' ? strtoull(omitted, NULL, 10) & INT64_MAX : 0;
    return TIDE_OK;
}
