#include "snapshot/explain/growth.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/map.h"
#include "snapshot/explain/common_line.h"
#include "snapshot/explain/growth_internal.h"

enum {
    MOST_MERGED = 8,           /* allocations of one stack in one pass of a loop on one line */
    MOST_MERGED_ROWS = 400000, /* longer loops are not merged */
    SHARED_PERCENT = 30,       /* two claims that share more blocks are one */
    TRAINED_PERCENT = 80       /* of the passes, with a backward pass or an optimizer's step */
};

#define LINE_SHARE 0.85 /* of the kept bytes, below the line that is named .. */
#define MOST_SHARE 0.5  /* .. or, if no line has that, most of them */

/* ---- one loop ---- */

static bool is_buffer(const tide_snapshot *snapshot, uint8_t category) {
    return category >= TIDE_N_CATEGORIES &&
           strcmp(tide_snapshot_category(snapshot, category), "buffer") == 0;
}

bool tide_growth_counts(const tide_growth_look *look, const tide_lifetime *block) {
    const tide_block_lines *lines = look->input->lines;
    uint32_t traits = tide_stack_traits(lines->stacks, block->stack);
    return block->device == look->input->device &&
           (block->stack != TIDE_NONE || block->scope != TIDE_NONE) &&
           block->category != TIDE_PARAMETER && block->category != TIDE_OPTIMIZER_STATE &&
           block->category != TIDE_WORKSPACE && block->category != TIDE_WEIGHT_COPY &&
           !is_buffer(lines->stacks->snapshot, block->category) &&
           !(look->makes_models && block->category == TIDE_GRADIENT) &&
           (traits & (TIDE_IN_MODULE_INIT | TIDE_IN_OPTIMIZER)) == 0;
}

static bool is_freed(const tide_growth_look *look, const tide_lifetime *block) {
    return block->freed != TIDE_LIFETIME_FOREVER && block->freed <= tide_growth_instant(look) + 1;
}

bool tide_growth_is_kept(const tide_growth_look *look, const tide_lifetime *block) {
    return block->born != 0 && block->born - 1 < tide_growth_instant(look) &&
           !is_freed(look, block) && tide_growth_counts(look, block);
}

size_t tide_growth_starts_until(const tide_growth_look *look, uint32_t row) {
    size_t low = 0;
    size_t high = look->n_passes + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (look->starts[middle] <= row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int by_size(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

void tide_growth_sort(int64_t *numbers, size_t n) {
    if (n > 0) {
        qsort(numbers, n, sizeof(*numbers), by_size);
    }
}

int64_t tide_growth_median(int64_t *bytes, size_t n) {
    tide_growth_sort(bytes, n);
    return n > 0 ? bytes[n / 2] : 0;
}

size_t tide_growth_first_born(const tide_lifetimes *lifetimes, size_t row) {
    size_t low = 0;
    size_t high = lifetimes->n_lifetimes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lifetimes->lifetimes[middle].born < row + 1) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether the numbers of allocations repeat after `period` passes, in four of five. */
static bool repeats(const uint32_t *counts, size_t n, size_t period) {
    size_t n_equal = 0;
    for (size_t i = 0; i + period < n; i++) {
        n_equal += counts[i] == counts[i + period];
    }
    return n >= 3 * period && 5 * n_equal >= 4 * (n - period);
}

static void count_allocs(const tide_growth_look *look, uint32_t *counts) {
    const uint8_t *actions = look->input->lines->stacks->snapshot->events.action;
    for (size_t i = 0; i < look->n_passes; i++) {
        counts[i] = 0;
        for (uint32_t row = look->starts[i]; row < look->starts[i + 1]; row++) {
            counts[i] += actions[row] == TIDE_ACTION_ALLOC;
        }
    }
}

/* A line that allocates several times in the same way looks like as many passes: merges them. */
static tide_status merge_passes(tide_growth_look *look) {
    const tide_loop *loop = look->loop;
    size_t n = look->n_passes;
    if (!loop->is_one_line || loop->starts[n] - loop->starts[0] >= MOST_MERGED_ROWS) {
        return TIDE_OK;
    }
    uint32_t *counts = tide_hostmem_array(look->mem, n + 1, sizeof(*counts));
    if (counts == NULL) {
        return TIDE_NO_MEMORY;
    }
    count_allocs(look, counts);
    size_t period = 1;
    while (period <= MOST_MERGED && !repeats(counts, n, period)) {
        period++;
    }
    if (period > MOST_MERGED || period == 1) {
        look->mem->release(look->mem->ctx, counts);
        return TIDE_OK;
    }
    look->n_passes = n / period;
    for (size_t i = 0; i <= look->n_passes; i++) {
        counts[i] = loop->starts[i * period];
    }
    look->merged = counts;
    look->starts = counts;
    return TIDE_OK;
}

/* Finds the blocks of the loop, and whether it has a forward and a backward pass. */
static void look_at_blocks(tide_growth_look *look) {
    const tide_lifetimes *lifetimes = look->input->lifetimes;
    const tide_block_lines *lines = look->input->lines;
    bool is_pickle = lines->stacks->snapshot->origin.format[0] != '\0';
    size_t n_parameters = 0;
    look->first = tide_growth_first_born(lifetimes, look->starts[0]);
    look->end = tide_growth_first_born(lifetimes, look->loop->end);
    for (size_t i = look->first; i < look->end; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        uint32_t traits = tide_stack_traits(lines->stacks, block->stack);
        /* In a recording of PyTorch's, the backward pass has no frames of Python. */
        bool has_no_python = is_pickle && (traits & TIDE_HAS_PYTHON) == 0;
        bool is_complete = block->born - 1 < tide_growth_instant(look);
        if (block->device != look->input->device) {
            continue;
        }
        n_parameters += is_complete && block->category == TIDE_PARAMETER && !is_freed(look, block);
        look->has_backward =
            look->has_backward || has_no_python || tide_block_is_backward(lines, block);
        look->has_forward =
            look->has_forward || (is_complete && tide_block_is_forward(lines, block));
    }
    look->makes_models = n_parameters >= look->n_passes;
}

/* ---- when the program trains ---- */

/* When the phases "backward" and "optimizer" of the snapshot begin, ascending. The caller releases
 * them; NULL: no memory. */
static int64_t *find_training(const tide_growth_input *input, size_t *ret_n) {
    const tide_snapshot *snapshot = input->lines->stacks->snapshot;
    int64_t *times =
        tide_hostmem_array(input->lifetimes->mem, snapshot->n_scopes + 1, sizeof(*times));
    size_t n = 0;
    for (size_t i = 0; times != NULL && i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        tide_scope_phase phase = tide_phase_of(input->lines->scopes, (uint32_t)i);
        if (row->kind == TIDE_SCOPE_PHASE &&
            (phase == TIDE_PHASE_BACKWARD || phase == TIDE_PHASE_OPTIMIZER)) {
            times[n++] = row->begin_ns;
        }
    }
    tide_growth_sort(times, n);
    *ret_n = n;
    return times;
}

/* Of each row, whether it is in a backward pass: by the phases of the recording if it has them,
 * else whether a backward pass made the last allocation of the device before it. After the last
 * allocation, the program may be ending. The caller releases them; NULL: no memory. */
static uint8_t *find_backward(const tide_growth_input *input, bool has_phases) {
    const tide_lifetimes *lifetimes = input->lifetimes;
    const tide_event_table *events = &input->lines->stacks->snapshot->events;
    size_t n = input->lines->stacks->snapshot->n_events;
    uint8_t *rows = tide_hostmem_zeroed(lifetimes->mem, n + 1, sizeof(*rows));
    size_t at = 0;
    uint8_t is_in = 0;
    for (size_t i = 0; rows != NULL && has_phases && i < n; i++) {
        uint32_t scope = tide_index_at(&events->scope, i);
        rows[i] = tide_phase_of(input->lines->scopes, scope) == TIDE_PHASE_BACKWARD;
    }
    for (size_t i = 0; rows != NULL && !has_phases && i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[i];
        if (block->device != input->device || block->born == 0) {
            continue;
        }
        while (at + 1 < block->born) {
            rows[at++] = is_in;
        }
        is_in = tide_block_is_backward(input->lines, block);
    }
    return rows;
}

/* Whether nearly all passes train, even if their backward passes allocate nothing. */
static bool trains(const tide_growth_look *look) {
    const int64_t *row_times = look->input->lines->stacks->snapshot->events.time_ns;
    size_t n = 0;
    size_t at = 0; /* the first that begins in this pass or later */
    for (size_t p = 0; p < look->n_passes; p++) {
        while (at < look->n_trained && look->trained[at] < row_times[look->starts[p]]) {
            at++;
        }
        n += at < look->n_trained && look->trained[at] < row_times[look->starts[p + 1]];
    }
    return n >= 1 && 100 * n >= TRAINED_PERCENT * look->n_passes;
}

static tide_status look_at(tide_growth_look *look, tide_growth *to) {
    bool is_found = false;
    look->starts = look->loop->starts;
    look->n_passes = look->loop->n_starts - 1;
    TIDE_TRY(merge_passes(look));
    if (look->n_passes + 1 < TIDE_LOOP_LEAST_PASSES) {
        return TIDE_OK;
    }
    look_at_blocks(look);
    look->has_backward = look->has_backward || (look->n_trained > 0 && trains(look));
    bool is_step = look->has_forward || look->has_backward || look->loop->is_steps;
    if (!is_step && !look->ran_out) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_growth_keeps(look, to, &is_found));
    return is_found || !is_step ? TIDE_OK : tide_growth_replaces(look, to);
}

/* Whether a node of the stack tree is below a line of the loop, or such a line itself: a line
 * outside of it, such as the call that contains the loop, names nothing. */
static bool is_in_loop(const tide_growth_look *look, uint32_t node) {
    const tide_snapshot *snapshot = look->input->lines->stacks->snapshot;
    for (; node != TIDE_NONE; node = snapshot->stacks[node].parent) {
        if (tide_loop_has_line(look->loop, snapshot, node)) {
            return true;
        }
    }
    return look->loop->is_steps;
}

static tide_status find_line(const tide_growth_look *look, const tide_growth_fact *fact,
                             tide_common_line *ret_line) {
    const double shares[] = {LINE_SHARE, MOST_SHARE};
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        TIDE_TRY(tide_common_line_find(look->input->lines, look->input->lifetimes, fact->blocks,
                                       fact->n_blocks, shares[i], ret_line));
        if (ret_line->node != TIDE_NONE && is_in_loop(look, ret_line->node)) {
            return TIDE_OK;
        }
    }
    *ret_line = (tide_common_line){TIDE_NONE, 0};
    return TIDE_OK;
}

tide_status tide_growth_add(const tide_growth_look *look, tide_growth *to, tide_growth_fact *fact) {
    tide_common_line line;
    tide_status status = find_line(look, fact, &line);
    tide_growth_fact *grown = NULL;
    if (status == TIDE_OK) {
        grown = tide_hostmem_grow(to->mem, to->facts, &to->room, to->n_facts + 1, sizeof(*grown));
        status = grown != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    }
    if (status != TIDE_OK) {
        to->mem->release(to->mem->ctx, fact->blocks);
        return status;
    }
    fact->loop = look->loop;
    fact->has_forward = look->has_forward;
    fact->has_backward = look->has_backward;
    fact->n_passes = look->n_passes;
    fact->line = line.node;
    fact->line_share = line.share;
    to->facts = grown;
    to->facts[to->n_facts++] = *fact;
    return TIDE_OK;
}

/* ---- several loops see one growth ---- */

/* Bytes decide in steps of a tenth of the peak; then loops that are exact, then inner ones. */
static bool is_better(const tide_growth_fact *a, const tide_growth_fact *b, int64_t peak) {
    int64_t tenth = peak / 10 + 1;
    if (a->bytes / tenth != b->bytes / tenth) {
        return a->bytes > b->bytes;
    }
    if (a->loop->is_one_line != b->loop->is_one_line) {
        return b->loop->is_one_line;
    }
    return a->loop->depth != b->loop->depth ? a->loop->depth > b->loop->depth : a->bytes > b->bytes;
}

static size_t n_seen_of(const tide_map *seen, const tide_growth_fact *fact) {
    size_t n = 0;
    for (size_t i = 0; i < fact->n_blocks; i++) {
        n += tide_map_find(seen, fact->blocks[i], NULL);
    }
    return n;
}

/* Sorts the facts, loops that are exact first among those of about the same bytes, and drops those
 * whose blocks another one has. */
static tide_status keep_distinct(tide_growth *growth, int64_t peak) {
    tide_map seen;
    size_t n = 0;
    tide_status status = TIDE_OK;
    for (size_t i = 1; i < growth->n_facts; i++) { /* few: a loop seldom grows */
        for (size_t j = i; j > 0 && is_better(&growth->facts[j], &growth->facts[j - 1], peak);
             j--) {
            tide_growth_fact swapped = growth->facts[j];
            growth->facts[j] = growth->facts[j - 1];
            growth->facts[j - 1] = swapped;
        }
    }
    tide_map_init(&seen, growth->mem);
    for (size_t i = 0; i < growth->n_facts; i++) {
        tide_growth_fact *fact = &growth->facts[i];
        if (100 * n_seen_of(&seen, fact) > SHARED_PERCENT * fact->n_blocks) {
            growth->mem->release(growth->mem->ctx, fact->blocks);
            continue;
        }
        for (size_t b = 0; b < fact->n_blocks && status == TIDE_OK; b++) {
            status = tide_map_put(&seen, fact->blocks[b], 0);
        }
        growth->facts[n++] = *fact;
    }
    growth->n_facts = n;
    tide_map_fini(&seen);
    return status;
}

/* ---- the whole ---- */

tide_status tide_growth_init(tide_growth *growth, const tide_growth_input *input) {
    const tide_device_lifetimes *device = &input->lifetimes->devices[input->device];
    *growth = (tide_growth){.mem = input->lifetimes->mem};
    TIDE_ASSERT(input->device < input->lifetimes->n_devices);
    size_t n_trained = 0;
    int64_t *trained = find_training(input, &n_trained);
    uint8_t *in_backward = find_backward(input, n_trained > 0);
    tide_status status = trained != NULL && in_backward != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 0; i < input->loops->n_loops && status == TIDE_OK; i++) {
        tide_growth_look look = {.input = input,
                                 .mem = growth->mem,
                                 .peak_bytes = device->max[TIDE_MAX_ALLOCATED].bytes,
                                 .ran_out = device->counts[TIDE_ACTION_OOM] > 0,
                                 .trained = trained,
                                 .n_trained = n_trained,
                                 .in_backward = in_backward,
                                 .loop = &input->loops->loops[i]};
        status = look_at(&look, growth);
        growth->mem->release(growth->mem->ctx, look.merged);
    }
    growth->mem->release(growth->mem->ctx, trained);
    growth->mem->release(growth->mem->ctx, in_backward);
    return status == TIDE_OK ? keep_distinct(growth, device->max[TIDE_MAX_ALLOCATED].bytes)
                             : status;
}

void tide_growth_fini(tide_growth *growth) {
    if (growth->mem != NULL) {
        for (size_t i = 0; i < growth->n_facts; i++) {
            growth->mem->release(growth->mem->ctx, growth->facts[i].blocks);
        }
        growth->mem->release(growth->mem->ctx, growth->facts);
        *growth = (tide_growth){.mem = growth->mem};
    }
}
