/* The blocks of the peak by line of the program, category and scope. In a recording that is read as
 * a whole, lines are those of tide_peak_lines; piece by piece, those of the call stacks. */
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/explain/peak_lines.h"
#include "snapshot/explain/words/user_line.h"
#include "snapshot/ranks/digest_internal.h"

/* Blocks of one line, category, certainty and path. */
typedef struct group {
    uint32_t kind, line; /* of a tide_place; or 0 and the call stack */
    uint32_t path;
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

/* The scopes from `scope` outwards whose paths are not known yet. */
static tide_status chain_of(tide_digest_parts *of, uint32_t scope, uint32_t **ret_chain,
                            size_t *ret_n, uint32_t *ret_known) {
    uint32_t *chain = NULL;
    size_t n = 0;
    size_t capacity = 0;
    uint64_t path = TIDE_NONE;
    tide_status status = TIDE_OK;
    while (status == TIDE_OK && scope != TIDE_NONE && !tide_map_find(&of->path_of, scope, &path)) {
        tide_scope_row row;
        uint32_t *grown = tide_hostmem_grow(of->mem, chain, &capacity, n + 1, sizeof(*grown));
        if (grown == NULL) {
            status = TIDE_NO_MEMORY;
            break;
        }
        chain = grown;
        chain[n++] = scope;
        status = of->events->scope(of->events->ctx, scope, &row, of->error);
        scope = row.parent;
    }
    *ret_chain = chain;
    *ret_n = n;
    *ret_known = (uint32_t)path;
    return status;
}

/* The number of a scope's path; TIDE_NONE: it is outside of all scopes but steps. */
static tide_status path_of(tide_digest_parts *of, uint32_t scope, uint32_t *ret_path) {
    uint32_t *chain = NULL;
    size_t n = 0;
    uint32_t path = TIDE_NONE;
    tide_status status = chain_of(of, scope, &chain, &n, &path);
    while (status == TIDE_OK && n > 0) {
        tide_scope_row row;
        uint32_t inner = chain[--n];
        TIDE_ASSERT(n == 0 || chain[n - 1] > inner); /* a parent comes before its scopes */
        status = of->events->scope(of->events->ctx, inner, &row, of->error);
        if (status == TIDE_OK) {
            status = tide_scope_paths_add(&of->paths, path, &row, &path);
        }
        if (status == TIDE_OK) {
            status = tide_map_put(&of->path_of, inner, path);
        }
    }
    of->mem->release(of->mem->ctx, chain);
    *ret_path = path;
    return status;
}

static const char *scope_text(const tide_digest_parts *of, uint32_t path) {
    char cut[TIDE_DIGEST_LINE_BYTES];
    const char *text = tide_scope_paths_text(&of->paths, of->snapshot, path, of->arena);
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
    const int64_t keys[][2] = {{a->kind, b->kind},
                               {a->line, b->line},
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

/* "" if no line is known. */
static const char *place_text(const tide_digest_parts *of, const tide_facts *facts,
                              const group *rows) {
    char bytes[TIDE_DIGEST_LINE_BYTES] = "";
    tide_text text = tide_text_in(bytes, sizeof(bytes));
    const tide_place place = {(tide_place_kind)rows->kind, false, rows->line};
    if (place.kind != TIDE_PLACE_BEFORE && place.kind != TIDE_PLACE_UNKNOWN) {
        tide_place_add(facts, &place, &text);
    }
    return tide_arena_text(of->arena, bytes);
}

/* `facts` NULL: lines are call stacks. */
static tide_status name_rows(const tide_digest_parts *of, const tide_facts *facts, group *groups,
                             size_t n) {
    bool says = tide_snapshot_has_certainty(of->snapshot);
    for (size_t i = 0; i < n; i++) {
        tide_digest_row *row = &groups[i].row;
        bool same =
            i > 0 && groups[i].kind == groups[i - 1].kind && groups[i].line == groups[i - 1].line;
        row->line = same            ? groups[i - 1].row.line
                    : facts != NULL ? place_text(of, facts, &groups[i])
                                    : tide_digest_line(of, groups[i].line);
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
    device->rest.bytes = device->rest.n_blocks = device->rest.n_rows = 0;
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

/* A group for each block that is allocated on the device. */
static tide_status group_blocks(tide_digest_parts *of, const tide_digest_device *device,
                                const tide_walk_block *blocks, size_t n_blocks, group *groups,
                                size_t *ret_n) {
    size_t n = 0;
    for (size_t i = 0; i < n_blocks; i++) {
        const tide_walk_block *block = &blocks[i];
        if (block->device != device->index || block->freed != TIDE_WALK_NEVER) {
            continue;
        }
        uint32_t path = TIDE_NONE;
        TIDE_TRY(path_of(of, block->scope, &path));
        TIDE_ASSERT(block->category < tide_snapshot_n_categories(of->snapshot));
        groups[n++] = (group){.line = block->stack,
                              .path = path,
                              .category = block->category,
                              .certainty = block->certainty,
                              .row = {.bytes = (int64_t)block->block_bytes, .n_blocks = 1}};
    }
    *ret_n = n;
    return TIDE_OK;
}

/* A group for each block of the peak of the facts. */
static tide_status group_places(tide_digest_parts *of, const tide_facts *facts, group *groups) {
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        const tide_place place = tide_place_of(facts, block);
        uint32_t path = TIDE_NONE;
        TIDE_TRY(path_of(of, block->scope, &path));
        groups[i] = (group){.kind = (uint32_t)place.kind,
                            .line = place.index,
                            .path = path,
                            .category = block->category,
                            .certainty = block->certainty,
                            .row = {.bytes = (int64_t)block->block_bytes, .n_blocks = 1}};
    }
    return TIDE_OK;
}

/* Names and merges the groups, and keeps the largest as the device's rows. */
static tide_status make_rows(const tide_digest_parts *of, const tide_facts *facts, group *groups,
                             size_t n, tide_digest_device *device) {
    n = merge(groups, n, by_numbers);
    TIDE_TRY(name_rows(of, facts, groups, n));
    n = merge(groups, n, by_texts);
    n = merge(groups, n, by_bytes);
    return keep(of, groups, n, device);
}

tide_status tide_digest_add_rows(tide_digest_parts *of, tide_digest_device *device) {
    size_t n_blocks = 0;
    size_t n = 0;
    const tide_walk_block *blocks = tide_live_walk_blocks(of->walk, &n_blocks);
    group *groups = tide_hostmem_zeroed(of->mem, n_blocks + 1, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = group_blocks(of, device, blocks, n_blocks, groups, &n);
    if (status == TIDE_OK) {
        status = make_rows(of, NULL, groups, n, device);
    }
    of->mem->release(of->mem->ctx, groups);
    return status;
}

tide_status tide_digest_add_places(tide_digest_parts *of, const tide_facts *facts,
                                   tide_digest_device *device) {
    group *groups = tide_hostmem_zeroed(of->mem, facts->n_peak + 1, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = group_places(of, facts, groups);
    if (status == TIDE_OK) {
        status = make_rows(of, facts, groups, facts->n_peak, device);
    }
    of->mem->release(of->mem->ctx, groups);
    return status;
}
