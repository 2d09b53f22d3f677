/* Growth by blocks that survive: their passes must be many, regular, spread over the loop, and
 * recent. docs/guide/explain.md has the reason for each threshold. */
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/map.h"
#include "snapshot/explain/failure.h"
#include "snapshot/explain/growth_internal.h"

enum {
    LEAST_SURVIVING = 3, /* passes in which blocks of one place survive */
    LEAST_KEEPING = 4,   /* passes that keep blocks .. */
    LEAST_OF_MANY = 3,   /* .. of a loop with at least this many passes: */
    MANY_PASSES = 12,
    MANY_KEEPING = 8,       /* then the first need not be an early pass */
    REGULAR_PERCENT = 60,   /* of the gaps between keeping passes are equal */
    LEAST_PERCENT = 1,      /* of the peak, in all passes together */
    LEAST_QUEUED = 2,       /* passes whose blocks were freed late show a queue */
    THIN_PERCENT = 10,      /* passes with less of the median keep nothing */
    FILLED_PERCENT = 50,    /* of the peak, in a loop that fills the device .. */
    FREED_PERCENT = 5,      /* .. and frees at most this share of it */
    OUTLIVING_PERCENT = 70, /* of what a loop on one line keeps is alive .. */
    CONSUMED_PERCENT = 50,  /* of what a run keeps is freed by a backward pass .. */
    MOST_RUNS = 8,          /* .. in most of so many last runs */
    LEAST_LATER_ROWS = 10, /* .. half its length later, at least so many rows, or at its next run */
    LEAST_FAILED_ROWS = 50 /* the request fails at most so many rows after the last pass begins */
};

typedef struct keeper {
    const tide_growth_look *look; /* borrowed */
    uint32_t *blocks;             /* owned; indices of lifetimes that survive */
    uint32_t *passes;             /* owned; of each of them */
    size_t n;
    tide_map surviving; /* place -> last pass and number of passes in which it survives */
    int64_t *bytes;     /* owned; of each pass */
    int64_t *sorted;    /* owned; room for as many */
    uint32_t *keeping;  /* owned; the passes that keep, ascending */
    size_t n_keeping;
} keeper;

/* ---- which blocks survive ---- */

static uint64_t place_of(const keeper *of, const tide_lifetime *block) {
    return tide_place_key(of->look->input->lines->scopes, block->stack, block->scope);
}

/* The value of a place holds the last pass + 1 above the number of passes. */
static tide_status count_place(keeper *of, uint64_t place, uint32_t pass) {
    uint64_t value = 0;
    (void)tide_map_find(&of->surviving, place, &value);
    if (value >> 32 == pass + UINT64_C(1)) {
        return TIDE_OK;
    }
    uint64_t n = (value & UINT32_MAX) + 1;
    return tide_map_put(&of->surviving, place, ((pass + UINT64_C(1)) << 32) | n);
}

static tide_status collect(keeper *of) {
    const tide_growth_look *look = of->look;
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        if (tide_growth_is_kept(look, block)) {
            size_t pass = tide_growth_starts_until(look, block->born - 1) - 1;
            TIDE_ASSERT(pass < look->n_passes);
            of->blocks[of->n] = (uint32_t)i;
            of->passes[of->n++] = (uint32_t)pass;
            TIDE_TRY(count_place(of, place_of(of, block), (uint32_t)pass));
        }
    }
    return TIDE_OK;
}

/* Drops blocks of places that survive in few passes: what the last pass leaves for the moment. */
static void drop_rare(keeper *of) {
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++) {
        const tide_lifetime *block = &of->look->input->lifetimes->lifetimes[of->blocks[i]];
        uint64_t value = 0;
        (void)tide_map_find(&of->surviving, place_of(of, block), &value);
        if ((value & UINT32_MAX) >= LEAST_SURVIVING) {
            of->blocks[n] = of->blocks[i];
            of->passes[n++] = of->passes[i];
            of->bytes[of->passes[i]] += (int64_t)block->block_bytes;
        }
    }
    of->n = n;
}

/* ---- which passes keep ---- */

/* The upper median of the passes with bytes; with `only_keeping`, of the keeping ones. */
static int64_t median_of(keeper *of, bool only_keeping) {
    size_t n = 0;
    for (size_t p = 0; p < of->look->n_passes && !only_keeping; p++) {
        if (of->bytes[p] > 0) {
            of->sorted[n++] = of->bytes[p];
        }
    }
    for (size_t i = 0; i < of->n_keeping && only_keeping; i++) {
        of->sorted[n++] = of->bytes[of->keeping[i]];
    }
    return tide_growth_median(of->sorted, n);
}

static void find_keeping(keeper *of) {
    int64_t median = median_of(of, false);
    for (size_t p = 0; p < of->look->n_passes; p++) {
        if (of->bytes[p] > 0 && of->bytes[p] >= median / 100 * THIN_PERCENT) {
            of->keeping[of->n_keeping++] = (uint32_t)p;
        }
    }
}

/* The commonest gap between keeping passes, the smallest on ties, and how often it occurs. */
static uint32_t commonest_gap(const keeper *of, size_t *ret_n) {
    int64_t best = 0;
    size_t n_gaps = 0;
    size_t n = 0;
    *ret_n = 0;
    for (size_t i = 1; i < of->n_keeping; i++) {
        of->sorted[n_gaps++] = (int64_t)of->keeping[i] - of->keeping[i - 1];
    }
    tide_growth_sort(of->sorted, n_gaps);
    for (size_t i = 0; i < n_gaps; i++) {
        n = i > 0 && of->sorted[i] == of->sorted[i - 1] ? n + 1 : 1;
        if (n > *ret_n) {
            *ret_n = n;
            best = of->sorted[i];
        }
    }
    return (uint32_t)best;
}

/* Whether each third of the span has a keeping pass: warm-up and prefetching end early. */
static bool is_spread(const keeper *of) {
    double from = of->keeping[0];
    double span = of->keeping[of->n_keeping - 1] - from + 1;
    size_t n[3] = {0, 0, 0};
    for (size_t i = 0; i < of->n_keeping; i++) {
        size_t third = (size_t)((of->keeping[i] - from) * 3 / span);
        n[third > 2 ? 2 : third]++;
    }
    return n[0] > 0 && n[1] > 0 && n[2] > 0;
}

static bool is_early(const keeper *of, uint32_t gap) {
    uint32_t latest = (uint32_t)(of->look->n_passes / 3);
    latest = latest > 2 ? latest : 2;
    return of->keeping[0] <= (latest > gap ? latest : gap) || of->n_keeping >= MANY_KEEPING;
}

/* Whether blocks of earlier passes survived two whole passes and were freed later: then the newest
 * passes replace the oldest, as in a queue of fixed length, and nothing grows. */
static bool is_queue(const keeper *of) {
    const tide_growth_look *look = of->look;
    size_t n = 0;
    size_t last = SIZE_MAX;
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        uint64_t value = 0;
        if (block->born > look->starts[of->keeping[0]]) {
            break; /* born in a keeping pass, as are all that follow */
        }
        if (block->freed == TIDE_LIFETIME_FOREVER || !tide_growth_counts(look, block) ||
            !tide_map_find(&of->surviving, place_of(of, block), &value) ||
            (value & UINT32_MAX) < LEAST_SURVIVING) {
            continue;
        }
        size_t pass = tide_growth_starts_until(look, block->born - 1);
        size_t freed = block->freed > 0 ? tide_growth_starts_until(look, block->freed - 1) : 0;
        if (freed >= pass + 2 && pass != last) {
            last = pass;
            n++;
        }
    }
    return n >= LEAST_QUEUED;
}

/* Whether the keeping passes are many, regular, spread and recent. *ret_every: the gap. */
static bool is_growth(const keeper *of, bool is_step, uint32_t *ret_every) {
    size_t n_equal = 0;
    size_t n_passes = of->look->n_passes;
    size_t least = n_passes >= MANY_PASSES ? LEAST_OF_MANY : LEAST_KEEPING;
    if (of->n_keeping < least) {
        return false;
    }
    uint32_t gap = commonest_gap(of, &n_equal);
    *ret_every = gap;
    size_t n_later = n_passes - 1 - of->keeping[of->n_keeping - 1];
    return 100 * n_equal >= REGULAR_PERCENT * (of->n_keeping - 1) && is_spread(of) &&
           n_later <= gap + 1 && is_early(of, gap) && (!is_step || !is_queue(of));
}

/* ---- the fact ---- */

/* Bytes that were allocated since the first keeping pass, and freed before the last one began. */
static int64_t freed_since(const keeper *of) {
    const tide_growth_look *look = of->look;
    uint32_t instant = tide_growth_instant(look);
    int64_t bytes = 0;
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &look->input->lifetimes->lifetimes[i];
        bool is_in = block->born > look->starts[of->keeping[0]] && block->born <= instant;
        bytes += is_in && block->device == look->input->device && block->freed <= instant + 1
                     ? (int64_t)block->block_bytes
                     : 0;
    }
    return bytes;
}

/* Whether a loop without forward and backward filled the device until a request failed. */
static bool fills(const keeper *of, int64_t bytes) {
    const tide_growth_look *look = of->look;
    return bytes > look->peak_bytes / 100 * FILLED_PERCENT &&
           freed_since(of) < bytes / 100 * FREED_PERCENT &&
           (size_t)tide_growth_instant(look) + LEAST_FAILED_ROWS >
               tide_failure_row(look->input->lines->stacks->snapshot, look->input->device);
}

static int64_t drop_others(keeper *of) {
    int64_t bytes = 0;
    size_t n = 0;
    size_t k = 0;
    for (size_t i = 0; i < of->n; i++) { /* blocks and passes are both in order of birth */
        while (k < of->n_keeping && of->keeping[k] < of->passes[i]) {
            k++;
        }
        if (k < of->n_keeping && of->keeping[k] == of->passes[i]) {
            of->blocks[n++] = of->blocks[i];
        }
    }
    for (size_t i = 0; i < of->n_keeping; i++) {
        bytes += of->bytes[of->keeping[i]];
    }
    of->n = n;
    return bytes;
}

/* Bytes of blocks that count, born in rows [from, to) and allocated at a row. */
static int64_t alive_at(const tide_growth_look *look, size_t from, size_t to, size_t row) {
    const tide_lifetimes *lifetimes = look->input->lifetimes;
    size_t end = tide_growth_first_born(lifetimes, to);
    int64_t bytes = 0;
    for (size_t i = tide_growth_first_born(lifetimes, from); i < end; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        bytes += block->freed > row + 1 && tide_growth_counts(look, block)
                     ? (int64_t)block->block_bytes
                     : 0;
    }
    return bytes;
}

static bool is_same_line(const tide_loop *a, const tide_loop *b) {
    return a->is_one_line && a->function == b->function && a->file == b->file &&
           a->first_line == b->first_line;
}

/* Whether what a loop on one line keeps outlives it: else the line collects results that are freed
 * when it ends or runs again, such as the outputs of each evaluation. A failed request ends the
 * program first. */
static bool outlives(const keeper *of, int64_t bytes) {
    const tide_growth_look *look = of->look;
    const tide_loop *loop = look->loop;
    size_t last = look->input->lines->stacks->snapshot->n_events - 1;
    size_t half = (loop->end - look->starts[0]) / 2;
    size_t later = loop->end + (half > LEAST_LATER_ROWS ? half : LEAST_LATER_ROWS);
    if (!loop->is_one_line || look->ran_out) {
        return true;
    }
    for (size_t i = 0; i < look->input->loops->n_loops; i++) { /* the line ran before, or again */
        const tide_loop *other = &look->input->loops->loops[i];
        if (other == loop || !is_same_line(other, loop)) {
            continue;
        }
        if (other->starts[0] >= loop->end) {
            later = other->starts[0] > later ? other->starts[0] : later;
        } else if (alive_at(look, other->starts[0], other->end, look->starts[0]) < bytes / 2) {
            return false;
        }
    }
    later = later < last ? later : last;
    return loop->end > last || alive_at(look, look->starts[0], tide_growth_instant(look), later) >=
                                   bytes / 100 * OUTLIVING_PERCENT;
}

/* Whether a run of a loop kept blocks until its last pass, and a backward pass freed most of them;
 * *ret_kept: whether it kept any. */
static bool is_run_consumed(const tide_growth_look *look, const tide_loop *run, bool *ret_kept) {
    const tide_lifetimes *lifetimes = look->input->lifetimes;
    uint32_t instant = run->starts[run->n_starts - 1];
    size_t end = tide_growth_first_born(lifetimes, instant);
    int64_t kept = 0;
    int64_t consumed = 0;
    for (size_t i = tide_growth_first_born(lifetimes, run->starts[0]); i < end; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        bool is_kept = block->freed > instant + 1 && tide_growth_counts(look, block);
        bool is_freed = block->freed != TIDE_LIFETIME_FOREVER;
        kept += is_kept ? (int64_t)block->block_bytes : 0;
        consumed += is_kept && is_freed && look->in_backward[block->freed - 1]
                        ? (int64_t)block->block_bytes
                        : 0;
    }
    *ret_kept = kept > 0;
    return consumed > kept / 100 * CONSUMED_PERCENT;
}

/* Whether a backward pass after the loop frees what it keeps, as with the time steps of a network:
 * seen in the last runs of the loop, and in this one if it ended. */
static bool is_consumed(const tide_growth_look *look) {
    const tide_loops *loops = look->input->loops;
    size_t n_runs = 0;
    size_t n_consumed = 0;
    size_t at = (size_t)(look->loop - loops->loops);
    for (size_t i = at + 1; i > 0 && n_runs < MOST_RUNS; i--) {
        const tide_loop *run = &loops->loops[i - 1];
        bool has_kept = false;
        if (run->function == look->loop->function && run->file == look->loop->file &&
            run->first_line == look->loop->first_line && run->is_steps == look->loop->is_steps) {
            n_consumed += is_run_consumed(look, run, &has_kept);
            n_runs += has_kept;
        }
    }
    return 2 * n_consumed > n_runs;
}

static tide_status decide(keeper *of, tide_growth *to, bool *ret_found) {
    const tide_growth_look *look = of->look;
    uint32_t every = 1;
    bool is_step = look->has_forward || look->has_backward || look->loop->is_steps;
    drop_rare(of);
    find_keeping(of);
    if (!is_growth(of, is_step, &every)) {
        return TIDE_OK;
    }
    int64_t bytes = drop_others(of);
    if (bytes < look->peak_bytes / 100 * LEAST_PERCENT || (!is_step && !fills(of, bytes)) ||
        !outlives(of, bytes) || is_consumed(of->look)) {
        return TIDE_OK;
    }
    tide_growth_fact fact = {.kind = is_step ? TIDE_GROWTH_KEEPS : TIDE_GROWTH_FILLS,
                             .n_keeping = of->n_keeping,
                             .every = every,
                             .bytes = bytes,
                             .rate_bytes = median_of(of, true),
                             .blocks = of->blocks,
                             .n_blocks = of->n};
    of->blocks = NULL;
    *ret_found = true;
    return tide_growth_add(look, to, &fact);
}

tide_status tide_growth_keeps(const tide_growth_look *look, tide_growth *to, bool *ret_found) {
    const tide_hostmem *mem = look->mem;
    size_t n = look->end - look->first;
    size_t n_passes = look->n_passes;
    keeper of = {.look = look};
    of.blocks = tide_hostmem_array(mem, n, sizeof(*of.blocks));
    of.passes = tide_hostmem_array(mem, n, sizeof(*of.passes));
    of.bytes = tide_hostmem_zeroed(mem, n_passes, sizeof(*of.bytes));
    of.sorted = tide_hostmem_array(mem, n_passes, sizeof(*of.sorted));
    of.keeping = tide_hostmem_array(mem, n_passes, sizeof(*of.keeping));
    tide_map_init(&of.surviving, mem);
    tide_status status = TIDE_NO_MEMORY;
    if (of.blocks != NULL && of.passes != NULL && of.bytes != NULL && of.sorted != NULL &&
        of.keeping != NULL) {
        status = collect(&of);
        if (status == TIDE_OK) {
            status = decide(&of, to, ret_found);
        }
    }
    void *const owned[] = {of.blocks, of.passes, of.bytes, of.sorted, of.keeping};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        mem->release(mem->ctx, owned[i]);
    }
    tide_map_fini(&of.surviving);
    return status;
}
