/* The blocks of the peak by line of the program, category and scope. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/digest_internal.h"
#include "snapshot/user_line.h"

/* Blocks of one stack, category, certainty and path. */
typedef struct group {
    uint32_t stack, path;
    uint8_t category, certainty;
    tide_digest_row row;
} group;

const char *tide_digest_line(const tide_digest_parts *of, uint32_t stack) {
    char bytes[TIDE_DIGEST_LINE_BYTES];
    tide_text text = tide_text_in(bytes, sizeof(bytes));
    tide_user_line_add(of->snapshot, stack, &text);
    return tide_arena_text(of->arena, bytes);
}

/* "layer 12" and "layers.12.attn" lose their numbers: rows of all layers are one. In place. */
static void fold_numbers(char *text) {
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t n = strspn(at, "0123456789");
        bool begins = at == text || strchr(" .[", at[-1]) != NULL;
        if (n > 0 && begins && (at[n] == '\0' || strchr(" .]", at[n]) != NULL)) {
            *to++ = '*';
            at += n;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

static const char *scope_text(const tide_digest_parts *of, uint32_t path) {
    char cut[TIDE_DIGEST_LINE_BYTES];
    const char *text = tide_scope_paths_text(of->paths, of->snapshot, path, of->arena);
    if (text == NULL) {
        return NULL;
    }
    tide_text to = tide_text_in(cut, sizeof(cut));
    tide_text_add(&to, "%s", text);
    fold_numbers(cut);
    return tide_arena_text(of->arena, cut);
}

static int by_numbers(const void *left, const void *right) {
    const group *a = left;
    const group *b = right;
    const int64_t keys[][2] = {{a->stack, b->stack},
                               {a->path, b->path},
                               {a->category, b->category},
                               {a->certainty, b->certainty}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static int by_texts(const void *left, const void *right) {
    const tide_digest_row *a = &((const group *)left)->row;
    const tide_digest_row *b = &((const group *)right)->row;
    int order = strcmp(a->line, b->line);
    order = order != 0 ? order : strcmp(a->category, b->category);
    order = order != 0 ? order : strcmp(a->certainty, b->certainty);
    return order != 0 ? order : strcmp(a->scope, b->scope);
}

static int by_bytes(const void *left, const void *right) {
    const group *a = left;
    const group *b = right;
    if (a->row.bytes != b->row.bytes) {
        return a->row.bytes < b->row.bytes ? 1 : -1;
    }
    return by_texts(left, right);
}

/* Sorts, and adds up those that are equal; returns how many are left. */
static size_t merge(group *groups, size_t n, int (*order)(const void *, const void *)) {
    size_t n_kept = 0;
    if (n > 0) {
        qsort(groups, n, sizeof(*groups), order);
    }
    for (size_t i = 0; i < n; i++) {
        if (n_kept > 0 && order(&groups[n_kept - 1], &groups[i]) == 0) {
            groups[n_kept - 1].row.bytes += groups[i].row.bytes;
            groups[n_kept - 1].row.n_blocks += groups[i].row.n_blocks;
        } else {
            groups[n_kept++] = groups[i];
        }
    }
    return n_kept;
}

static tide_status name_rows(const tide_digest_parts *of, group *groups, size_t n) {
    bool says = tide_snapshot_has_certainty(of->snapshot);
    for (size_t i = 0; i < n; i++) {
        tide_digest_row *row = &groups[i].row;
        bool same = i > 0 && groups[i].stack == groups[i - 1].stack;
        row->line = same ? groups[i - 1].row.line : tide_digest_line(of, groups[i].stack);
        row->scope = scope_text(of, groups[i].path);
        row->category = tide_snapshot_category(of->snapshot, groups[i].category);
        row->certainty = !says                                         ? ""
                         : groups[i].certainty == TIDE_CERTAINTY_NAMED ? "named"
                         : groups[i].certainty == TIDE_CERTAINTY_RULE  ? "rule"
                                                                       : "";
        if (row->line == NULL || row->scope == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    return TIDE_OK;
}

static tide_status keep(const tide_digest_parts *of, const group *groups, size_t n,
                        tide_digest_device *device) {
    size_t n_rows = n < TIDE_DIGEST_ROWS ? n : TIDE_DIGEST_ROWS;
    tide_digest_row *rows = tide_arena_alloc(of->arena, n_rows, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        if (i < n_rows) {
            rows[i] = groups[i].row;
        } else {
            device->rest.bytes += groups[i].row.bytes;
            device->rest.n_blocks += groups[i].row.n_blocks;
            device->rest.n_rows++;
        }
    }
    device->rows = rows;
    device->n_rows = n_rows;
    return TIDE_OK;
}

tide_status tide_digest_add_rows(const tide_digest_parts *of, const tide_summary_peak *peak,
                                 tide_digest_device *device) {
    const tide_hostmem *mem = of->lifetimes->mem;
    group *groups = tide_hostmem_zeroed(mem, peak->n_blocks + 1, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < peak->n_blocks; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        uint32_t scope = block->scope;
        groups[i] = (group){.stack = block->stack,
                            .path = scope != TIDE_NONE ? of->paths->of_scope[scope] : TIDE_NONE,
                            .category = block->category,
                            .certainty = block->certainty,
                            .row = {.bytes = (int64_t)block->block_bytes, .n_blocks = 1}};
    }
    size_t n = merge(groups, peak->n_blocks, by_numbers);
    tide_status status = name_rows(of, groups, n);
    if (status == TIDE_OK) {
        n = merge(groups, n, by_texts);
        n = merge(groups, n, by_bytes);
        status = keep(of, groups, n, device);
    }
    mem->release(mem->ctx, groups);
    return status;
}
