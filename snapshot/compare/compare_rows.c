#include "snapshot/compare/compare_rows.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/map.h"
#include "common/text/text.h"
#include "snapshot/compare/compare_internal.h"
#include "snapshot/document/scope_paths.h"
#include "snapshot/analysis/user_frame.h"

enum { FRAME_BYTES = 1024, NAME_BYTES = 512, LINE_BYTES = 16 };

/* Numbers texts: equal texts have one number in all runs. */
typedef struct text_numbers {
    tide_map by_hash;
    const char **texts; /* owned; the texts are in the result's arena */
    size_t n, capacity;
} text_numbers;

/* Numbers pairs of numbers. */
typedef struct pair_numbers {
    tide_map by_pair;
    uint32_t n;
} pair_numbers;

/* Finds the row that a block of a run belongs to. */
typedef struct aligner {
    const tide_compare *compare; /* borrowed */
    const tide_hostmem *mem;     /* borrowed */
    tide_compare_rows *to;       /* filled */
    text_numbers texts;          /* names, paths and frames */
    pair_numbers stacks;         /* (caller's, frame) */
    pair_numbers places;         /* (path, name) */
    pair_numbers uses;           /* (stack, category) */
    pair_numbers rows;           /* (place, use) */
    size_t capacity;             /* of to's rows while they are collected */
    tide_compare_row *collected; /* owned; as many as `rows` has numbers */
} aligner;

/* The tables of one run. Numbers are stored + 1; 0: not looked up yet. */
typedef struct run_numbers {
    const tide_snapshot *snapshot; /* borrowed */
    const uint32_t *category_of;   /* borrowed; the comparison's numbers */
    tide_arena scratch;            /* the tables below */
    tide_scope_paths paths;
    uint32_t *of_path;     /* text of each path */
    uint32_t *of_string;   /* text of each folded name */
    uint32_t *of_stack[2]; /* number of each stack: [1] with lines */
} run_numbers;

const char *tide_row_change_name(int change) {
    static const char *const NAMES[TIDE_N_ROW_CHANGES] = {"",     "same",  "new",
                                                          "gone", "grown", "shrunk"};
    return change >= 0 && change < TIDE_N_ROW_CHANGES ? NAMES[change] : "?";
}

tide_row_change tide_compare_row_change(const tide_compare_row *row, size_t run) {
    if (row->bytes[0] < 0 || row->bytes[run] < 0 ||
        (row->n_blocks[0] == 0 && row->n_blocks[run] == 0)) {
        return TIDE_ROW_ABSENT;
    }
    if (row->n_blocks[0] == 0 || row->n_blocks[run] == 0) {
        return row->n_blocks[0] == 0 ? TIDE_ROW_NEW : TIDE_ROW_GONE;
    }
    return row->bytes[run] == row->bytes[0]  ? TIDE_ROW_SAME
           : row->bytes[run] > row->bytes[0] ? TIDE_ROW_GROWN
                                             : TIDE_ROW_SHRUNK;
}

static tide_status number_of_text(aligner *of, const char *text, uint32_t *ret_number) {
    text_numbers *texts = &of->texts;
    uint64_t hash = tide_hash_bytes(text, strlen(text));
    uint64_t number = 0;
    while (tide_map_find(&texts->by_hash, hash, &number)) {
        TIDE_ASSERT(number < texts->n);
        if (strcmp(texts->texts[number], text) == 0) {
            *ret_number = (uint32_t)number;
            return TIDE_OK;
        }
        hash++;
    }
    const char **grown = tide_hostmem_grow(of->mem, (void *)texts->texts, &texts->capacity,
                                           texts->n + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    texts->texts = grown;
    texts->texts[texts->n] = tide_arena_text(&of->to->arena, text);
    if (texts->texts[texts->n] == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_map_put(&texts->by_hash, hash, texts->n));
    *ret_number = (uint32_t)texts->n++;
    return TIDE_OK;
}

static tide_status number_of_pair(pair_numbers *pairs, uint32_t first, uint32_t second,
                                  uint32_t *ret_number) {
    uint64_t key = (uint64_t)first << 32 | second;
    uint64_t number = 0;
    if (tide_map_find(&pairs->by_pair, key, &number)) {
        *ret_number = (uint32_t)number;
        return TIDE_OK;
    }
    TIDE_TRY(tide_map_put(&pairs->by_pair, key, pairs->n));
    *ret_number = pairs->n++;
    return TIDE_OK;
}

/* "layers.5.attn.q" -> "layers.*.attn.q". */
static void fold_name(const char *name, char folded[NAME_BYTES]) {
    size_t n = 0;
    for (const char *at = name; *at != '\0' && n + 1 < NAME_BYTES;) {
        size_t n_word = strcspn(at, ".");
        if (n_word > 0 && strspn(at, "0123456789") == n_word) {
            folded[n++] = '*';
        } else {
            for (size_t i = 0; i < n_word && n + 1 < NAME_BYTES; i++) {
                folded[n++] = at[i];
            }
        }
        at += n_word;
        if (*at == '.' && n + 1 < NAME_BYTES) {
            folded[n++] = *at++;
        }
    }
    folded[n] = '\0';
}

/* "backward > layer * > attention". */
static void fold_path(const run_numbers *run, uint32_t path, char folded[TIDE_SCOPE_PATH_BYTES]) {
    uint32_t chain[TIDE_SCOPE_PATH_DEPTH];
    size_t n_chain = 0;
    tide_text text = tide_text_in(folded, TIDE_SCOPE_PATH_BYTES);
    for (uint32_t i = path; i != TIDE_NONE && n_chain < TIDE_SCOPE_PATH_DEPTH;
         i = run->paths.paths[i].parent) {
        chain[n_chain++] = i;
    }
    while (n_chain > 0) {
        const tide_scope_path *one = &run->paths.paths[chain[--n_chain]];
        tide_text_add(&text, "%.*s%s%s", TIDE_SCOPE_NAME_BYTES,
                      tide_snapshot_text(run->snapshot, one->name), one->index >= 0 ? " *" : "",
                      n_chain > 0 ? " > " : "");
    }
}

/* "attend attention.c 57": the file without its folders, which depend on the builder. */
static void frame_text(const tide_snapshot *snapshot, uint32_t frame, bool with_line,
                       char text[FRAME_BYTES]) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *file = tide_snapshot_text(snapshot, row->file);
    char line[LINE_BYTES] = "";
    for (const char *at = file; *at != '\0'; at++) {
        file = *at == '/' || *at == '\\' ? at + 1 : file;
    }
    if (with_line) {
        snprintf(line, sizeof(line), "%d", (int)row->line);
    }
    snprintf(text, FRAME_BYTES, "%.700s\n%.255s\n%s", tide_snapshot_text(snapshot, row->function),
             file, line);
}

/* Numbers the frames; of_frame[n_frames + i] is 1 if frame i counts in a stack that passes through
 * an interpreter. */
static tide_status number_frames(aligner *of, const tide_snapshot *snapshot, bool with_lines,
                                 uint32_t *of_frame) {
    bool is_foreign = snapshot->origin.format[0] != '\0';
    char text[FRAME_BYTES];
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        frame_text(snapshot, (uint32_t)i, with_lines, text);
        TIDE_TRY(number_of_text(of, text, &of_frame[i]));
        of_frame[snapshot->n_frames + i] = is_foreign && tide_frame_is_user(snapshot, (uint32_t)i);
    }
    return TIDE_OK;
}

/* In stacks from another program, only the frames in the user's code are compared, if there are
 * any: the frames between them and the allocator differ from one precision to the next.
 */
static tide_status number_stacks(aligner *of, run_numbers *run, bool with_lines) {
    const tide_snapshot *snapshot = run->snapshot;
    size_t n = snapshot->n_stacks;
    uint32_t *of_frame = tide_arena_alloc(&run->scratch, snapshot->n_frames, 2 * sizeof(*of_frame));
    uint32_t *whole = tide_arena_alloc(&run->scratch, n, sizeof(*whole));
    uint32_t *users = tide_arena_alloc(&run->scratch, n, sizeof(*users));
    if (of_frame == NULL || whole == NULL || users == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(number_frames(of, snapshot, with_lines, of_frame));
    for (size_t i = 0; i < n; i++) {
        uint32_t parent = snapshot->stacks[i].parent;
        uint32_t frame = snapshot->stacks[i].frame;
        TIDE_ASSERT(frame < snapshot->n_frames && (parent == TIDE_NONE || parent < i));
        TIDE_TRY(number_of_pair(&of->stacks, parent == TIDE_NONE ? TIDE_NONE : whole[parent],
                                of_frame[frame], &whole[i]));
        users[i] = parent == TIDE_NONE ? TIDE_NONE : users[parent];
        if (of_frame[snapshot->n_frames + frame] != 0) {
            TIDE_TRY(number_of_pair(&of->stacks, users[i], of_frame[frame], &users[i]));
        }
    }
    for (size_t i = 0; i < n; i++) {
        whole[i] = users[i] != TIDE_NONE ? users[i] : whole[i];
    }
    run->of_stack[with_lines] = whole;
    return TIDE_OK;
}

static tide_status run_init(aligner *of, run_numbers *run, const tide_compare_run *from) {
    const tide_snapshot *snapshot = from->snapshot;
    *run = (run_numbers){.snapshot = snapshot, .category_of = from->category_of};
    tide_arena_init(&run->scratch, of->mem);
    TIDE_TRY(tide_scope_paths_init(&run->paths, snapshot, of->mem));
    run->of_path = tide_arena_alloc(&run->scratch, run->paths.n_paths, sizeof(*run->of_path));
    run->of_string = tide_arena_alloc(&run->scratch, snapshot->n_strings, sizeof(*run->of_string));
    return run->of_path != NULL && run->of_string != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static void run_fini(run_numbers *run) {
    tide_scope_paths_fini(&run->paths);
    tide_arena_fini(&run->scratch);
}

static tide_status number_of_path(aligner *of, run_numbers *run, uint32_t scope,
                                  uint32_t *ret_number) {
    uint32_t path = scope == TIDE_NONE ? TIDE_NONE : run->paths.of_scope[scope];
    char text[TIDE_SCOPE_PATH_BYTES];
    if (path != TIDE_NONE && run->of_path[path] > 0) {
        *ret_number = run->of_path[path] - 1;
        return TIDE_OK;
    }
    fold_path(run, path, text);
    TIDE_TRY(number_of_text(of, text, ret_number));
    if (path != TIDE_NONE) {
        run->of_path[path] = *ret_number + 1;
    }
    return TIDE_OK;
}

static tide_status number_of_name(aligner *of, run_numbers *run, uint32_t name,
                                  uint32_t *ret_number) {
    char text[NAME_BYTES];
    if (name != TIDE_NONE && run->of_string[name] > 0) {
        *ret_number = run->of_string[name] - 1;
        return TIDE_OK;
    }
    fold_name(tide_snapshot_text(run->snapshot, name), text);
    TIDE_TRY(number_of_text(of, text, ret_number));
    if (name != TIDE_NONE) {
        run->of_string[name] = *ret_number + 1;
    }
    return TIDE_OK;
}

/* The number of the row that a block belongs to; a new row for the first block of its kind. */
static tide_status number_of_row(aligner *of, run_numbers *run, const tide_lifetime *block,
                                 uint32_t *ret_number) {
    uint32_t path = 0;
    uint32_t name = 0;
    uint32_t place = 0;
    uint32_t use = 0;
    TIDE_TRY(number_of_path(of, run, block->scope, &path));
    TIDE_TRY(number_of_name(of, run, tide_lifetime_own_name(block), &name));
    bool with_lines = of->texts.texts[name][0] == '\0';
    if (block->stack != TIDE_NONE && run->of_stack[with_lines] == NULL) {
        TIDE_TRY(number_stacks(of, run, with_lines));
    }
    uint32_t stack =
        block->stack == TIDE_NONE ? TIDE_NONE : run->of_stack[with_lines][block->stack];
    TIDE_TRY(number_of_pair(&of->places, path, name, &place));
    uint32_t category = run->category_of[block->category];
    TIDE_TRY(number_of_pair(&of->uses, stack, category, &use));
    uint32_t n_before = of->rows.n;
    TIDE_TRY(number_of_pair(&of->rows, place, use, ret_number));
    if (*ret_number < n_before) {
        return TIDE_OK;
    }
    TIDE_ASSERT(*ret_number == n_before);
    tide_compare_row *grown = tide_hostmem_grow(of->mem, of->collected, &of->capacity,
                                                (size_t)*ret_number + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->collected = grown;
    of->collected[*ret_number] =
        (tide_compare_row){.name = of->texts.texts[name],
                           .scope_path = of->texts.texts[path],
                           .snapshot = run->snapshot,
                           .stack = block->stack,
                           .order = *ret_number,
                           .category = (int)category,
                           .kind = tide_layer_kind_of(of->texts.texts[name], of->texts.texts[path]),
                           .bytes = tide_arena_alloc(&of->to->arena, of->to->n_runs, 8),
                           .n_blocks = tide_arena_alloc(&of->to->arena, of->to->n_runs, 8)};
    const tide_compare_row *row = &of->collected[*ret_number];
    return row->bytes != NULL && row->n_blocks != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status add_run(aligner *of, size_t index, tide_compare_kinds *kinds) {
    const tide_compare_run *from = &of->compare->runs[index];
    size_t n_categories = of->compare->n_categories;
    run_numbers run;
    int64_t *bytes =
        tide_arena_alloc(&of->to->arena, TIDE_N_LAYER_KINDS * n_categories, sizeof(*bytes));
    if (bytes == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < TIDE_N_LAYER_KINDS; i++) {
        kinds->bytes[i] = &bytes[i * n_categories];
    }
    if (from->device == NULL) {
        memset(bytes, 0xFF, TIDE_N_LAYER_KINDS * n_categories * sizeof(*bytes)); /* -1 */
        return TIDE_OK;
    }
    tide_status status = run_init(of, &run, from);
    for (size_t i = 0; i < from->device->peak.n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = &from->device->peak.blocks[i];
        uint32_t number = 0;
        status = number_of_row(of, &run, block, &number);
        if (status == TIDE_OK) {
            tide_compare_row *row = &of->collected[number];
            TIDE_ASSERT((size_t)row->category < n_categories);
            row->bytes[index] += (int64_t)block->block_bytes;
            row->n_blocks[index]++;
            bytes[(size_t)row->kind * n_categories + (size_t)row->category] +=
                (int64_t)block->block_bytes;
        }
    }
    run_fini(&run);
    return status;
}

static int64_t largest(const tide_compare_row *row, size_t n_runs) {
    int64_t found = -1;
    for (size_t i = 0; i < n_runs; i++) {
        found = row->bytes[i] > found ? row->bytes[i] : found;
    }
    return found;
}

static void fill_differences(aligner *of) {
    for (size_t i = 0; i < of->to->n_rows; i++) {
        tide_compare_row *row = &of->collected[i];
        for (size_t j = 0; j < of->to->n_runs; j++) {
            row->bytes[j] = of->compare->runs[j].device == NULL ? -1 : row->bytes[j];
            int64_t change = row->bytes[j] - row->bytes[0];
            if (row->bytes[0] >= 0 && row->bytes[j] >= 0) {
                change = change < 0 ? -change : change;
                row->difference_bytes =
                    change > row->difference_bytes ? change : row->difference_bytes;
            }
        }
    }
}

/* The sort key of a row. */
typedef struct rank {
    int64_t difference_bytes, bytes; /* of the row; its largest run's */
    uint32_t row;                    /* number in `collected` */
} rank;

static int by_rank(const void *left, const void *right) {
    const rank *a = left;
    const rank *b = right;
    if (a->difference_bytes != b->difference_bytes) {
        return a->difference_bytes < b->difference_bytes ? 1 : -1;
    }
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static tide_status sort_rows(aligner *of) {
    size_t n = of->to->n_rows;
    of->to->rows = tide_arena_alloc(&of->to->arena, n, sizeof(*of->to->rows));
    rank *ranks = tide_hostmem_zeroed(of->mem, n + 1, sizeof(*ranks));
    if (of->to->rows == NULL || ranks == NULL) {
        of->mem->release(of->mem->ctx, ranks);
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        ranks[i] = (rank){of->collected[i].difference_bytes,
                          largest(&of->collected[i], of->to->n_runs), (uint32_t)i};
    }
    qsort(ranks, n, sizeof(*ranks), by_rank);
    for (size_t i = 0; i < n; i++) {
        of->to->rows[i] = of->collected[ranks[i].row];
    }
    of->mem->release(of->mem->ctx, ranks);
    return TIDE_OK;
}

static tide_status align(aligner *of) {
    tide_compare_rows *to = of->to;
    tide_compare_kinds *kinds = tide_arena_alloc(&to->arena, to->n_runs, sizeof(*kinds));
    if (kinds == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->kinds = kinds;
    for (size_t i = 0; i < to->n_runs; i++) {
        TIDE_TRY(add_run(of, i, &kinds[i]));
    }
    to->n_rows = of->rows.n;
    TIDE_TRY(tide_compare_join_rows(of->mem, of->collected, to->n_runs, &to->n_rows));
    fill_differences(of);
    return sort_rows(of);
}

tide_status tide_compare_rows_create(const tide_compare *compare, tide_compare_rows **ret_rows) {
    const tide_hostmem *mem = compare->arena.mem;
    tide_compare_rows *rows = tide_hostmem_zeroed(mem, 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_arena_init(&rows->arena, mem);
    rows->n_runs = compare->n_runs;
    aligner of = {.compare = compare, .mem = mem, .to = rows};
    pair_numbers *pairs[] = {&of.stacks, &of.places, &of.uses, &of.rows};
    tide_map_init(&of.texts.by_hash, mem);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        tide_map_init(&pairs[i]->by_pair, mem);
    }
    tide_status status = align(&of);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        tide_map_fini(&pairs[i]->by_pair);
    }
    tide_map_fini(&of.texts.by_hash);
    mem->release(mem->ctx, (void *)of.texts.texts);
    mem->release(mem->ctx, of.collected);
    if (status != TIDE_OK) {
        tide_compare_rows_destroy(rows);
        return status;
    }
    *ret_rows = rows;
    return TIDE_OK;
}

void tide_compare_rows_destroy(tide_compare_rows *rows) {
    if (rows == NULL) {
        return;
    }
    const tide_hostmem *mem = rows->arena.mem;
    tide_arena_fini(&rows->arena);
    mem->release(mem->ctx, rows);
}
