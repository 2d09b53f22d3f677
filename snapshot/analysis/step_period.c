/* Steps of a recording without named steps, from the period of its allocations. */
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/map.h"
#include "snapshot/analysis/step_finder.h"

enum {
    LEAST_PERIODS = 3, /* fewer may repeat by chance */
    LEAST_ALLOCS = 4,  /* of a period */
    N_CANDIDATES = 16  /* periods to try */
};

/* The site of an allocation without a call stack, in a recording that has stacks. */
#define NO_STACK_SITE UINT64_MAX

/* The allocations of the device. */
typedef struct sequence {
    const tide_hostmem *mem; /* borrowed */
    uint64_t *sites;         /* owned; call stack, or bytes if there are no stacks */
    size_t *rows;            /* owned; of the event table */
    size_t n;
    bool has_stacks; /* most allocations have one */
    bool has_any;    /* at least one allocation has one */
} sequence;

/* Allocations that repeat: each from `begin` + `period` to `end` - 1 equals the one a period
 * before. */
typedef struct run {
    size_t period, begin, end;
} run;

static bool is_alloc(const tide_snapshot *snapshot, size_t row, size_t device) {
    return snapshot->events.action[row] == TIDE_ACTION_ALLOC &&
           snapshot->events.device[row] == device;
}

static tide_status read_sequence(sequence *seq, const tide_snapshot *snapshot, size_t device) {
    size_t n_stacks = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        seq->n += is_alloc(snapshot, i, device);
        n_stacks +=
            is_alloc(snapshot, i, device) && tide_index_at(&snapshot->events.stack, i) != TIDE_NONE;
    }
    seq->has_stacks = n_stacks > seq->n / 2;
    seq->has_any = n_stacks > 0;
    seq->sites = tide_hostmem_zeroed(seq->mem, seq->n, sizeof(*seq->sites));
    seq->rows = tide_hostmem_zeroed(seq->mem, seq->n, sizeof(*seq->rows));
    if (seq->sites == NULL || seq->rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (is_alloc(snapshot, i, device)) {
            seq->rows[n] = i;
            seq->sites[n++] = !seq->has_stacks         ? row.block_bytes
                              : row.stack != TIDE_NONE ? row.stack
                                                       : NO_STACK_SITE;
        }
    }
    return TIDE_OK;
}

/* ---- periods to try ---- */

/* How often a distance occurs between an allocation and the previous one from the same site. */
typedef struct candidate {
    uint64_t period;
    uint64_t n_allocs; /* distance times occurrences: the part of the sequence it spans */
} candidate;

static tide_status count_distances(const sequence *seq, tide_map *last_of, tide_map *counts) {
    for (size_t i = 0; i < seq->n; i++) {
        uint64_t before = 0;
        if (tide_map_find(last_of, seq->sites[i], &before)) {
            uint64_t distance = i - before;
            uint64_t n = 0;
            (void)tide_map_find(counts, distance, &n);
            if (distance >= LEAST_ALLOCS && distance <= seq->n / LEAST_PERIODS) {
                TIDE_TRY(tide_map_put(counts, distance, n + 1));
            }
        }
        TIDE_TRY(tide_map_put(last_of, seq->sites[i], i));
    }
    return TIDE_OK;
}

static bool is_better(const candidate *a, const candidate *b) {
    return a->n_allocs != b->n_allocs ? a->n_allocs > b->n_allocs : a->period < b->period;
}

/* The distances that span most of the sequence, widest first. */
static size_t best_of(const tide_map *counts, candidate best[N_CANDIDATES]) {
    size_t n = 0;
    for (size_t i = 0; i < counts->n_slots; i++) {
        if (!counts->slots[i].used) {
            continue;
        }
        candidate at = {counts->slots[i].key, counts->slots[i].key * counts->slots[i].value};
        size_t to = n;
        for (; to > 0 && is_better(&at, &best[to - 1]); to--) {
            if (to < N_CANDIDATES) {
                best[to] = best[to - 1];
            }
        }
        if (to < N_CANDIDATES) {
            best[to] = at;
            n += n < N_CANDIDATES;
        }
    }
    return n;
}

static tide_status find_candidates(const sequence *seq, candidate best[N_CANDIDATES],
                                   size_t *ret_n) {
    tide_map last_of;
    tide_map counts;
    tide_map_init(&last_of, seq->mem);
    tide_map_init(&counts, seq->mem);
    tide_status status = count_distances(seq, &last_of, &counts);
    *ret_n = status == TIDE_OK ? best_of(&counts, best) : 0;
    tide_map_fini(&counts);
    tide_map_fini(&last_of);
    return status;
}

/* ---- the longest run ---- */

static run longest_run(const sequence *seq, size_t period) {
    run best = {period, 0, 0};
    size_t begin = 0;
    for (size_t i = period; i < seq->n; i++) {
        if (seq->sites[i] != seq->sites[i - period]) {
            begin = i - period + 1;
        } else if (i + 1 - begin > best.end - best.begin) {
            best.begin = begin;
            best.end = i + 1;
        }
    }
    return best;
}

static bool has_two_sites(const sequence *seq, const run *found) {
    for (size_t i = 1; i < found->period; i++) {
        if (seq->sites[found->begin + i] != seq->sites[found->begin]) {
            return true;
        }
    }
    return false;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    size_t n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static const char *file_of(const tide_snapshot *snapshot, uint32_t node) {
    const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[node].frame];
    return tide_snapshot_text(snapshot, frame->file);
}

/* Whether a frame is a line that calls layer after layer, or parameter after parameter: of a
 * module's forward, or of PyTorch's own Python code, such as its optimizers and checkpoints. */
static bool is_inside(const tide_snapshot *snapshot, uint32_t node) {
    const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[node].frame];
    const char *file = file_of(snapshot, node);
    return ends_with(file, ".py") &&
           (strcmp(tide_snapshot_text(snapshot, frame->function), "forward") == 0 ||
            strstr(file, "/torch/") != NULL);
}

static bool has_python(const tide_snapshot *snapshot, uint32_t stack) {
    while (stack != TIDE_NONE && !ends_with(file_of(snapshot, stack), ".py")) {
        stack = snapshot->stacks[stack].parent;
    }
    return stack != TIDE_NONE;
}

/* How many stacks have a given frame. */
typedef struct frame_count {
    size_t n;
    size_t last; /* number of the last such stack, from 1 */
} frame_count;

/* Counts one more stack for each such line in it; true if one of the lines is in all stacks. The
 * frames of PyTorch's unwinder may be out of order, so stacks are treated as sets. */
static bool count_inside(const tide_snapshot *snapshot, uint32_t stack, size_t number,
                         frame_count *counts) {
    bool is_in_all = false;
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        frame_count *count = &counts[snapshot->stacks[stack].frame];
        if (count->last != number && is_inside(snapshot, stack)) {
            count->last = number;
            is_in_all = ++count->n == number || is_in_all;
            TIDE_ASSERT(count->n <= number);
        }
    }
    return is_in_all;
}

/* Whether the same line of a module's forward or of PyTorch calls all allocations of a period's
 * Python code: then the period is a layer. The threads of autograd have no Python code and do not
 * count; a period without any Python code is a layer of a backward pass. */
static bool is_layer(const tide_snapshot *snapshot, const sequence *seq, const run *found,
                     frame_count *counts) {
    bool is_in_all = false;
    size_t n_stacks = 0;
    memset(counts, 0, snapshot->n_frames * sizeof(*counts));
    for (size_t i = found->begin; i < found->begin + found->period; i++) {
        uint32_t stack = tide_index_at(&snapshot->events.stack, seq->rows[i]);
        if (stack != TIDE_NONE && has_python(snapshot, stack)) {
            is_in_all = count_inside(snapshot, stack, ++n_stacks, counts);
            if (!is_in_all) {
                return false;
            }
        }
    }
    return is_in_all || n_stacks == 0;
}

/* Whether most of the bytes that the run allocates remain after it, or that many were released. */
static bool is_one_way(const tide_snapshot *snapshot, const sequence *seq, const run *found,
                       const int64_t *bytes) {
    int64_t taken = 0;
    for (size_t i = found->begin; i < found->end; i++) {
        taken += (int64_t)(tide_bytes_at(&snapshot->events.block_bytes, seq->rows[i]) / 2);
    }
    int64_t change = bytes[seq->rows[found->end - 1] + 1] - bytes[seq->rows[found->begin]];
    return change > taken || change < -taken;
}

static bool is_steps(const tide_snapshot *snapshot, const sequence *seq, const run *found,
                     const int64_t *bytes, frame_count *counts) {
    size_t n = found->end - found->begin;
    return n >= LEAST_PERIODS * found->period && n >= seq->n / 2 && has_two_sites(seq, found) &&
           (!seq->has_any || !is_layer(snapshot, seq, found, counts)) &&
           (seq->has_stacks || !is_one_way(snapshot, seq, found, bytes));
}

/* ---- steps of a run ---- */

/* The place in a period where least is allocated, on average over the periods. */
static size_t lowest_phase(const sequence *seq, const run *found, const int64_t *bytes) {
    size_t lowest = 0;
    double least = 0.0;
    for (size_t phase = 0; phase < found->period; phase++) {
        double sum = 0.0;
        size_t n = 0;
        for (size_t i = found->begin + phase; i < found->end; i += found->period) {
            sum += (double)bytes[seq->rows[i]];
            n++;
        }
        TIDE_ASSERT(n > 0);
        if (phase == 0 || sum / (double)n < least) {
            least = sum / (double)n;
            lowest = phase;
        }
    }
    return lowest;
}

/* Rows of the device after the last allocation of the step that begins at `i`. */
static size_t n_rows_behind(const tide_snapshot *snapshot, const sequence *seq, const run *found,
                            size_t i, size_t device) {
    size_t next = i + found->period;
    TIDE_ASSERT(found->period > 0 && next <= seq->n);
    size_t end = next < seq->n ? seq->rows[next] : snapshot->n_events;
    size_t n = 0;
    for (size_t row = seq->rows[next - 1] + 1; row < end; row++) {
        n += snapshot->events.device[row] == device;
    }
    return n;
}

/* Whether the recording ends within the step, before the releases that follow the last allocation
 * of the previous step. */
static bool is_cut(const tide_snapshot *snapshot, const sequence *seq, const run *found, size_t i,
                   size_t device) {
    return i + found->period >= seq->n && i >= found->begin + found->period &&
           n_rows_behind(snapshot, seq, found, i, device) <
               n_rows_behind(snapshot, seq, found, i - found->period, device);
}

static tide_status add_steps(tide_steps *steps, const tide_snapshot *snapshot, const sequence *seq,
                             const run *found, size_t first) {
    size_t capacity = 0;
    for (size_t i = first; i + found->period <= found->end; i += found->period) {
        size_t next = i + found->period;
        size_t end = next < seq->n ? seq->rows[next] : snapshot->n_events;
        TIDE_TRY(
            tide_steps_add(steps, &capacity,
                           (tide_step){.scope = TIDE_NONE,
                                       .number = (int64_t)steps->n_steps,
                                       .is_open = is_cut(snapshot, seq, found, i, steps->device),
                                       .first = seq->rows[i],
                                       .last = end - 1,
                                       .differs = -1,
                                       .differs_from = -1}));
    }
    return TIDE_OK;
}

/* Allocated bytes before each row and after the last. NULL: no memory. */
static int64_t *allocated_before(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                                 size_t device) {
    int64_t *bytes = tide_lifetimes_changes(lifetimes, snapshot->n_events, device, false);
    for (size_t i = 1; bytes != NULL && i <= snapshot->n_events; i++) {
        bytes[i] += bytes[i - 1];
    }
    return bytes;
}

/* The longest run that is steps; its period is 0 if there is none. */
static tide_status best_run(const tide_snapshot *snapshot, const sequence *seq,
                            const int64_t *bytes, run *ret_best) {
    candidate tried[N_CANDIDATES];
    size_t n_tried = 0;
    run best = {0, 0, 0};
    TIDE_TRY(find_candidates(seq, tried, &n_tried));
    frame_count *counts = tide_hostmem_zeroed(seq->mem, snapshot->n_frames, sizeof(*counts));
    if (counts == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_tried; i++) {
        run found = longest_run(seq, (size_t)tried[i].period);
        size_t n = found.end - found.begin;
        bool is_longer =
            n > best.end - best.begin || (n == best.end - best.begin && found.period < best.period);
        if (is_longer && is_steps(snapshot, seq, &found, bytes, counts)) {
            best = found;
        }
    }
    seq->mem->release(seq->mem->ctx, counts);
    *ret_best = best;
    return TIDE_OK;
}

static tide_status infer(tide_steps *steps, const tide_snapshot *snapshot, const sequence *seq,
                         const int64_t *bytes) {
    run best = {0, 0, 0};
    TIDE_TRY(best_run(snapshot, seq, bytes, &best));
    if (best.period == 0) {
        return TIDE_OK;
    }
    TIDE_ASSERT(best.begin < best.end && best.end <= seq->n);
    steps->source = TIDE_STEPS_INFERRED;
    steps->n_period_allocs = best.period;
    steps->period_share = (double)(best.end - best.begin) / (double)seq->n;
    return add_steps(steps, snapshot, seq, &best, best.begin + lowest_phase(seq, &best, bytes));
}

tide_status tide_steps_infer(tide_steps *steps, const tide_snapshot *snapshot,
                             const tide_lifetimes *lifetimes) {
    sequence seq = {.mem = steps->mem};
    int64_t *bytes = allocated_before(snapshot, lifetimes, steps->device);
    tide_status status =
        bytes != NULL ? read_sequence(&seq, snapshot, steps->device) : TIDE_NO_MEMORY;
    if (status == TIDE_OK && seq.n >= (size_t)LEAST_PERIODS * LEAST_ALLOCS) {
        status = infer(steps, snapshot, &seq, bytes);
    }
    steps->mem->release(steps->mem->ctx, seq.rows);
    steps->mem->release(steps->mem->ctx, seq.sites);
    lifetimes->mem->release(lifetimes->mem->ctx, bytes);
    return status;
}
