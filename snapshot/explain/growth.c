#include "snapshot/explain/growth.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "common/map.h"
#include "common/text/plural.h"
#include "snapshot/document/implementation.h"
#include "snapshot/analysis/path_text_friend.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/user_line.h"

enum {
    LEAST_KEEPING = 5,   /* steps that keep blocks of a line */
    LEAST_OF_STACK = 3,  /* of these steps, for one exact call stack */
    SHOWN_LINES = 2,     /* in words */
    LEAST_PERCENT = 1,   /* of the peak, in all steps together, .. */
    LEAST_BYTES = 65536, /* .. or this much a step */
    NAME_BYTES = 96
};

#define NO_PLACE SIZE_MAX
#define NOT_READ (UINT32_MAX - 1) /* of finder.frame_of */

/* The steps that keep blocks of one call stack. */
typedef struct site {
    size_t n_steps, last;
} site;

typedef struct finder {
    const tide_snapshot *snapshot;   /* borrowed, as are the next two */
    const tide_lifetimes *lifetimes; /* of the snapshot */
    const tide_steps *steps;
    size_t *place_of; /* owned; each step's number among the measured ones; NO_PLACE */
    size_t *measured; /* owned; the measured steps */
    size_t n_measured;
    uint32_t *frame_of; /* owned; each stack's user frame; TIDE_NONE: does not count */
    site *sites;        /* owned; of each stack */
    int64_t *ends; /* owned; bytes of one line at the end of each measured step; one more entry */
    tide_map index_of; /* frame -> line */
    size_t capacity;   /* of the lines */
    tide_growth *growth;
} finder;

/* ---- which steps count ---- */

static bool is_named(const tide_snapshot *snapshot, uint32_t scope, const char *name) {
    return strcmp(tide_snapshot_text(snapshot, snapshot->scopes[scope].name), name) == 0;
}

/* The steps of a recorded program are calls of its outermost module if it has no others. Calls have
 * no optimizer in them, and a forward pass only together with a backward pass. */
static bool are_calls(const tide_snapshot *snapshot) {
    bool has_forward = false;
    bool has_backward = false;
    for (uint32_t i = 0; i < snapshot->n_scopes; i++) {
        if (snapshot->scopes[i].kind == TIDE_SCOPE_PHASE) {
            if (is_named(snapshot, i, "optimizer")) {
                return false;
            }
            has_forward = has_forward || is_named(snapshot, i, "forward");
            has_backward = has_backward || is_named(snapshot, i, "backward");
        }
    }
    return has_backward || !has_forward;
}

static bool has_named_steps(const tide_snapshot *snapshot, const tide_steps *steps) {
    bool is_program = strcmp(snapshot->run.implementation, TIDE_IMPLEMENTATION_RECORDED) == 0;
    return steps->source != TIDE_STEPS_INFERRED &&
           !(steps->source == TIDE_STEPS_RECORDED && is_program && are_calls(snapshot));
}

static void find_measured(finder *find) {
    for (size_t i = 0; i < find->steps->n_steps; i++) {
        const tide_step *step = &find->steps->steps[i];
        bool is_measured = !step->is_warmup && !step->is_open;
        find->place_of[i] = is_measured ? find->n_measured : NO_PLACE;
        if (is_measured) {
            find->measured[find->n_measured++] = i;
        }
    }
}

static int64_t end_of(const finder *find, size_t place) {
    return (int64_t)find->steps->steps[find->measured[place]].last;
}

/* ---- which blocks count ---- */

/* Whether an optimizer's own code made the block: its state may appear late, parameter by
 * parameter.
 */
static bool is_of_optimizer(const tide_snapshot *snapshot, uint32_t stack, uint32_t user) {
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        uint32_t frame = snapshot->stacks[stack].frame;
        char file[TIDE_PATH_TEXT];
        if (frame == user) {
            return false;
        }
        tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
        if (strstr(file, "torch/optim/") != NULL) {
            return true;
        }
    }
    return false;
}

/* The line of the program that blocks of a stack count for; TIDE_NONE: none. */
static uint32_t frame_of(finder *find, uint32_t stack) {
    uint32_t *known = &find->frame_of[stack];
    if (*known == NOT_READ) {
        uint32_t frame = tide_user_frame(find->snapshot, stack);
        *known = is_of_optimizer(find->snapshot, stack, frame) ? TIDE_NONE : frame;
    }
    return *known;
}

/* Blocks that a healthy program keeps, or makes at first use. */
static bool is_state(const tide_snapshot *snapshot, const tide_lifetime *block) {
    switch (block->category) {
    case TIDE_PARAMETER:
    case TIDE_GRADIENT:
    case TIDE_OPTIMIZER_STATE:
    case TIDE_WORKSPACE:
    case TIDE_WEIGHT_COPY:
        return true;
    default:
        return block->category >= TIDE_N_CATEGORIES &&
               strcmp(tide_snapshot_category(snapshot, block->category), "buffer") == 0;
    }
}

static bool counts(finder *find, const tide_lifetime *block) {
    return block->device == find->steps->device && block->stack != TIDE_NONE &&
           !is_state(find->snapshot, block) && frame_of(find, block->stack) != TIDE_NONE;
}

/* The measured step that allocated the block, if the block is alive at the end of the last one.
 * NO_PLACE: none, or it was freed. */
static size_t place_of_kept(finder *find, const tide_lifetime *block) {
    int64_t step = tide_steps_at(find->steps, (int64_t)block->born - 1);
    if (block->born == 0 || step < 0 ||
        !tide_lifetime_is_allocated(block, end_of(find, find->n_measured - 1)) ||
        !counts(find, block)) {
        return NO_PLACE;
    }
    return find->place_of[step];
}

/* ---- lines ---- */

static void count_sites(finder *find) {
    for (size_t i = 0; i < find->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &find->lifetimes->lifetimes[i];
        size_t place = place_of_kept(find, block);
        site *at = place != NO_PLACE ? &find->sites[block->stack] : NULL;
        if (at != NULL && (at->n_steps == 0 || at->last != place)) {
            at->n_steps++;
            at->last = place;
        }
    }
}

static tide_status line_of(finder *find, uint32_t frame, tide_growth_line **ret_line) {
    tide_growth *growth = find->growth;
    uint64_t index = growth->n_lines;
    if (!tide_map_find(&find->index_of, frame, &index)) {
        tide_growth_line *grown = tide_hostmem_grow(growth->mem, growth->lines, &find->capacity,
                                                    growth->n_lines + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        growth->lines = grown;
        TIDE_TRY(tide_map_put(&find->index_of, frame, index));
        growth->lines[growth->n_lines++] = (tide_growth_line){.frame = frame};
    }
    *ret_line = &growth->lines[index];
    return TIDE_OK;
}

/* Blocks are in order of birth. `n_since` holds the place of the last step here. */
static tide_status collect(finder *find) {
    for (size_t i = 0; i < find->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &find->lifetimes->lifetimes[i];
        size_t place = place_of_kept(find, block);
        if (place == NO_PLACE || find->sites[block->stack].n_steps < LEAST_OF_STACK) {
            continue;
        }
        tide_growth_line *line = NULL;
        TIDE_TRY(line_of(find, frame_of(find, block->stack), &line));
        if (line->n_steps == 0) {
            line->first_step = place;
            line->stack = block->stack;
        }
        TIDE_ASSERT(line->n_steps == 0 || line->n_since <= place); /* in the order of births */
        if (line->n_steps == 0 || line->n_since != place) {
            line->n_steps++;
            line->n_since = place;
        }
        line->kept_bytes += (int64_t)block->block_bytes;
    }
    return TIDE_OK;
}

/* The first measured step that ends at or after the row; n_measured: none. */
static size_t place_at(const finder *find, int64_t row) {
    size_t low = 0;
    size_t high = find->n_measured;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(find, middle) < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Bytes of all blocks of the line at the end of each measured step. */
static void count_ends(finder *find, const tide_growth_line *line) {
    memset(find->ends, 0, (find->n_measured + 1) * sizeof(*find->ends));
    for (size_t i = 0; i < find->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &find->lifetimes->lifetimes[i];
        if (counts(find, block) && frame_of(find, block->stack) == line->frame) {
            bool is_kept = block->freed == TIDE_LIFETIME_FOREVER;
            size_t to = is_kept ? find->n_measured : place_at(find, (int64_t)block->freed - 1);
            find->ends[place_at(find, (int64_t)block->born - 1)] += (int64_t)block->block_bytes;
            find->ends[to] -= (int64_t)block->block_bytes;
        }
    }
    for (size_t p = 1; p < find->n_measured; p++) {
        find->ends[p] += find->ends[p - 1];
    }
}

/* Whether the bytes of the line rise in most steps since the first that keeps any, and the device's
 * bytes with them: the kept blocks replace nothing. */
static bool rises(finder *find, const tide_growth_line *line) {
    size_t from = line->first_step > 0 ? line->first_step - 1 : 0;
    size_t last = find->n_measured - 1;
    size_t n_rises = 0;
    count_ends(find, line);
    for (size_t p = from + 1; p <= last; p++) {
        n_rises += find->ends[p] > find->ends[p - 1];
    }
    int64_t all = find->steps->steps[find->measured[last]].end_bytes -
                  find->steps->steps[find->measured[from]].end_bytes;
    return 2 * n_rises > last - from &&
           find->ends[last] - find->ends[from] >= line->kept_bytes / 2 &&
           all >= line->kept_bytes / 2;
}

/* `n_since` holds the place of the last step that keeps a block, and `first_step` that of the
 * first.
 */
static bool grows(finder *find, const tide_growth_line *line) {
    TIDE_ASSERT(line->first_step <= line->n_since && line->n_since < find->n_measured);
    size_t n_since = find->n_measured - line->first_step;
    int64_t peak = find->lifetimes->devices[find->steps->device].max[TIDE_MAX_ALLOCATED].bytes;
    bool is_much = line->kept_bytes >= peak / 100 * LEAST_PERCENT ||
                   line->kept_bytes / (int64_t)n_since >= LEAST_BYTES;
    return line->n_steps >= LEAST_KEEPING && 2 * line->n_steps > n_since &&
           line->n_since + 2 >= find->n_measured && is_much && rises(find, line);
}

static int by_bytes(const void *left, const void *right) {
    const tide_growth_line *a = left;
    const tide_growth_line *b = right;
    if (a->kept_bytes != b->kept_bytes) {
        return a->kept_bytes < b->kept_bytes ? 1 : -1;
    }
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static void keep_growing(finder *find) {
    tide_growth *growth = find->growth;
    size_t n = 0;
    for (size_t i = 0; i < growth->n_lines; i++) {
        tide_growth_line line = growth->lines[i];
        if (grows(find, &line)) {
            line.n_since = find->n_measured - line.first_step;
            line.bytes_per_step = line.kept_bytes / (int64_t)line.n_since;
            line.first_step = find->measured[line.first_step];
            growth->bytes_per_step += line.bytes_per_step;
            growth->lines[n++] = line;
        }
    }
    growth->n_lines = n;
    if (n > 0) {
        qsort(growth->lines, n, sizeof(*growth->lines), by_bytes);
    }
}

/* ---- the whole ---- */

static tide_status find_lines(finder *find) {
    const tide_hostmem *mem = find->growth->mem;
    size_t n_stacks = find->snapshot->n_stacks;
    find->frame_of = tide_hostmem_zeroed(mem, n_stacks + 1, sizeof(*find->frame_of));
    find->sites = tide_hostmem_zeroed(mem, n_stacks + 1, sizeof(*find->sites));
    find->ends = tide_hostmem_zeroed(mem, find->n_measured + 1, sizeof(*find->ends));
    if (find->frame_of == NULL || find->sites == NULL || find->ends == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_stacks; i++) {
        find->frame_of[i] = NOT_READ;
    }
    count_sites(find);
    TIDE_TRY(collect(find));
    keep_growing(find);
    return TIDE_OK;
}

static void release(finder *find) {
    const tide_hostmem *mem = find->growth->mem;
    void *const owned[] = {find->place_of, find->measured, find->frame_of, find->sites, find->ends};
    tide_map_fini(&find->index_of);
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        mem->release(mem->ctx, owned[i]);
    }
}

tide_status tide_growth_init(tide_growth *growth, const tide_snapshot *snapshot,
                             const tide_lifetimes *lifetimes, const tide_steps *steps) {
    const tide_hostmem *mem = lifetimes->mem;
    *growth = (tide_growth){.mem = mem};
    if (steps->n_steps < TIDE_GROWTH_LEAST_STEPS || !has_named_steps(snapshot, steps)) {
        return TIDE_OK;
    }
    finder find = {.snapshot = snapshot, .lifetimes = lifetimes, .steps = steps, .growth = growth};
    tide_map_init(&find.index_of, mem);
    find.place_of = tide_hostmem_zeroed(mem, steps->n_steps, sizeof(*find.place_of));
    find.measured = tide_hostmem_zeroed(mem, steps->n_steps, sizeof(*find.measured));
    tide_status status = TIDE_NO_MEMORY;
    if (find.place_of != NULL && find.measured != NULL) {
        find_measured(&find);
        growth->is_known = find.n_measured >= TIDE_GROWTH_LEAST_STEPS;
        growth->last_step = find.n_measured > 0 ? find.measured[find.n_measured - 1] : 0;
        status = growth->is_known ? find_lines(&find) : TIDE_OK;
    }
    release(&find);
    return status;
}

void tide_growth_fini(tide_growth *growth) {
    if (growth->mem != NULL) {
        growth->mem->release(growth->mem->ctx, growth->lines);
        *growth = (tide_growth){.mem = growth->mem};
    }
}

void tide_growth_add(const tide_growth *growth, const tide_snapshot *snapshot,
                     const tide_steps *steps, tide_text *to) {
    for (size_t i = 0; i < growth->n_lines && i < SHOWN_LINES; i++) {
        const tide_growth_line *line = &growth->lines[i];
        char bytes[TIDE_BYTES_TEXT];
        char name[NAME_BYTES];
        tide_step_name(snapshot, &steps->steps[line->first_step], name, sizeof(name));
        tide_text_add(to, "%sby %s a step at ", i > 0 ? " and " : "",
                      tide_bytes_format(line->bytes_per_step, bytes));
        tide_user_line_add(snapshot, line->stack, to);
        tide_text_add(to, ", in %zu of %zu %s since %s", line->n_steps, line->n_since,
                      tide_plural(line->n_since, "step", "steps"), name);
    }
}
