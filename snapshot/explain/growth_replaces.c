/* Growth by replacement: the bytes of one line of the program rise by about the same amount on
 * nearly every pass, as when results are concatenated or a cache is copied. */
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "snapshot/explain/growth_internal.h"

enum {
    LEAST_PASSES = 5,
    LEAST_PERCENT = 2,   /* of the peak, at the last pass */
    RISING_PERCENT = 90, /* of the passes */
    EVEN_PERCENT = 60,   /* of the passes rise by the median, within half of it */
    MANY_TIMES = 4       /* the memory that a line keeps */
};

/* A line of the program. */
typedef struct site {
    uint32_t frame; /* of the line */
    int64_t bytes;  /* at the last pass */
} site;

typedef struct replacer {
    const tide_growth_look *look; /* borrowed */
    site *sites;                  /* owned */
    size_t n_sites, room;
    tide_map index_of; /* frame -> site */
    int64_t *bytes;    /* owned; of one site at the begin of each pass; one more entry */
    int64_t *rises;    /* owned; from pass to pass */
} replacer;

static uint32_t frame_of(const replacer *of, const tide_lifetime *block) {
    const tide_block_lines *lines = of->look->input->lines;
    uint32_t line = tide_block_line(lines, block);
    return line != TIDE_NONE ? lines->stacks->snapshot->stacks[line].frame : TIDE_NONE;
}

static tide_status collect(replacer *of) {
    const tide_growth_look *look = of->look;
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        uint32_t frame = tide_growth_is_kept(look, block) ? frame_of(of, block) : TIDE_NONE;
        uint64_t index = of->n_sites;
        if (frame == TIDE_NONE) {
            continue;
        }
        if (!tide_map_find(&of->index_of, frame, &index)) {
            site *grown =
                tide_hostmem_grow(look->mem, of->sites, &of->room, of->n_sites + 1, sizeof(*grown));
            if (grown == NULL) {
                return TIDE_NO_MEMORY;
            }
            of->sites = grown;
            TIDE_TRY(tide_map_put(&of->index_of, frame, index));
            of->sites[of->n_sites++] = (site){.frame = frame};
        }
        of->sites[index].bytes += (int64_t)block->block_bytes;
    }
    return TIDE_OK;
}

/* Bytes of the site that are alive when each pass begins, of blocks from the loop. */
static void count_bytes(replacer *of, uint32_t frame) {
    const tide_growth_look *look = of->look;
    memset(of->bytes, 0, (look->n_passes + 2) * sizeof(*of->bytes));
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        if (block->born - 1 >= tide_growth_instant(look) || !tide_growth_counts(look, block) ||
            frame_of(of, block) != frame) {
            continue;
        }
        size_t from = tide_growth_starts_until(look, block->born - 1);
        size_t to = look->n_passes + 1;
        if (block->freed != TIDE_LIFETIME_FOREVER) { /* starts before the row of the free */
            to = block->freed >= 2 ? tide_growth_starts_until(look, block->freed - 2) : 0;
        }
        if (from < to) {
            of->bytes[from] += (int64_t)block->block_bytes;
            of->bytes[to] -= (int64_t)block->block_bytes;
        }
    }
    for (size_t p = 1; p <= look->n_passes; p++) {
        of->bytes[p] += of->bytes[p - 1];
    }
}

/* Whether the bytes of the site rise evenly; *ret_rate: the median. The first pass does not
 * count. */
static bool rises(replacer *of, int64_t *ret_rate) {
    size_t n = of->look->n_passes - 1;
    size_t n_up = 0;
    size_t n_even = 0;
    for (size_t i = 0; i < n; i++) {
        of->rises[i] = of->bytes[i + 2] - of->bytes[i + 1];
        n_up += of->rises[i] > 0;
    }
    int64_t median = tide_growth_median(of->rises, n);
    for (size_t i = 0; i < n; i++) {
        int64_t away = of->rises[i] > median ? of->rises[i] - median : median - of->rises[i];
        n_even += 2 * away <= median;
    }
    *ret_rate = median;
    return 100 * n_up >= RISING_PERCENT * n && median > 0 &&
           2 * of->bytes[of->look->n_passes] >= 3 * of->bytes[1] &&
           100 * n_even >= EVEN_PERCENT * n;
}

/* Whether a pass begins while the block is alive. */
static bool spans_start(const tide_growth_look *look, const tide_lifetime *block) {
    size_t from = tide_growth_starts_until(look, block->born - 1);
    return block->freed == TIDE_LIFETIME_FOREVER || block->freed < 2 ||
           from < tide_growth_starts_until(look, block->freed - 2);
}

/* The pass in which a block of the device was made, before the last one begins; -1: another block.
 */
static int64_t pass_of(const tide_growth_look *look, const tide_lifetime *block) {
    bool counts =
        block->device == look->input->device && block->born - 1 < tide_growth_instant(look);
    return counts ? (int64_t)tide_growth_starts_until(look, block->born - 1) - 1 : -1;
}

/* Whether the line makes many times as much memory in the last pass as it keeps, such as all of a
 * model that it calls: then its temporaries are work, and not made from the tensor that it keeps.
 */
static bool is_work(const replacer *of, uint32_t frame, int64_t kept_bytes) {
    const tide_growth_look *look = of->look;
    int64_t bytes = 0;
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        if (pass_of(look, block) == (int64_t)look->n_passes - 1 && frame_of(of, block) == frame &&
            !spans_start(look, block)) {
            bytes += (int64_t)block->block_bytes;
        }
    }
    return bytes / MANY_TIMES >= kept_bytes;
}

/* Whether the other lines, and this one where it works, allocate more and more on each pass as
 * well: then the work grows, as with longer and longer inputs, and the line only follows. */
static bool follows_work(replacer *of, uint32_t frame) {
    const tide_growth_look *look = of->look;
    size_t n = look->n_passes;
    bool is_working = is_work(of, frame, of->bytes[n]);
    memset(of->bytes, 0, (n + 2) * sizeof(*of->bytes));
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        int64_t pass = pass_of(look, block);
        bool is_own = frame_of(of, block) == frame;
        if (pass >= 0 && (!is_own || (is_working && !spans_start(look, block)))) {
            of->bytes[pass] += (int64_t)block->block_bytes;
        }
    }
    return 2 * of->bytes[n - 1] >= 3 * of->bytes[1] && of->bytes[1] > 0;
}

static tide_status add_fact(replacer *of, uint32_t frame, int64_t rate, tide_growth *to) {
    const tide_growth_look *look = of->look;
    size_t n_passes = look->n_passes;
    const int64_t grown_bytes = of->bytes[n_passes] - of->bytes[1];
    if (follows_work(of, frame)) {
        return TIDE_OK;
    }
    tide_growth_fact fact = {.kind = TIDE_GROWTH_REPLACES,
                             .n_keeping = n_passes,
                             .every = 1,
                             .bytes = grown_bytes,
                             .rate_bytes = rate};
    fact.blocks = tide_hostmem_array(look->mem, look->end - look->first, sizeof(*fact.blocks));
    if (fact.blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    int64_t bytes = 0;
    int64_t new_bytes = 0;
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        if (tide_growth_is_kept(look, block) && frame_of(of, block) == frame) {
            bool is_new = block->born > look->starts[n_passes - 1];
            fact.blocks[fact.n_blocks++] = (uint32_t)i;
            bytes += (int64_t)block->block_bytes;
            new_bytes += is_new ? (int64_t)block->block_bytes : 0;
        }
    }
    if (2 * new_bytes < bytes) { /* they pile up: nothing is replaced */
        look->mem->release(look->mem->ctx, fact.blocks);
        return TIDE_OK;
    }
    return tide_growth_add(look, to, &fact);
}

static tide_status find(replacer *of, tide_growth *to) {
    TIDE_TRY(collect(of));
    for (size_t i = 0; i < of->n_sites; i++) {
        int64_t rate = 0;
        if (of->sites[i].bytes < of->look->peak_bytes / 100 * LEAST_PERCENT) {
            continue;
        }
        count_bytes(of, of->sites[i].frame);
        if (rises(of, &rate)) {
            TIDE_TRY(add_fact(of, of->sites[i].frame, rate, to));
        }
    }
    return TIDE_OK;
}

tide_status tide_growth_replaces(const tide_growth_look *look, tide_growth *to) {
    const tide_hostmem *mem = look->mem;
    replacer of = {.look = look};
    if (look->n_passes < LEAST_PASSES) {
        return TIDE_OK;
    }
    tide_map_init(&of.index_of, mem);
    of.bytes = tide_hostmem_array(mem, look->n_passes + 2, sizeof(*of.bytes));
    of.rises = tide_hostmem_array(mem, look->n_passes, sizeof(*of.rises));
    tide_status status = TIDE_NO_MEMORY;
    if (of.bytes != NULL && of.rises != NULL) {
        status = find(&of, to);
    }
    mem->release(mem->ctx, of.sites);
    mem->release(mem->ctx, of.bytes);
    mem->release(mem->ctx, of.rises);
    tide_map_fini(&of.index_of);
    return status;
}
