/* Patterns of the peak: an old model is still allocated while the new one is made, or so are the
 * results of a pass of a training loop while the next pass makes its own. */
#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"

#define LEAST_OVERLAP 0.15                /* of the peak, that falls without old results */
#define LEAST_BYTES ((int64_t)(64 << 20)) /* of these, at least */

enum {
    LEAST_PERCENT = 25,  /* of the peak, each of the two blocks */
    LEAST_MADE = 3,      /* blocks of one place and size */
    OVERLAP_PERCENT = 60 /* of the pairs: the older is freed only after the next is made */
};

/* Blocks of one line of the program and one size, in order of birth. Whole stacks differ when
 * PyTorch takes another way, as after the first call. */
typedef struct series {
    size_t n, n_overlaps, n_at_peak;
    uint32_t older, oldest; /* end of the last two, as in tide_lifetime */
    bool has_three;         /* three were alive together */
} series;

static void add_block(const tide_facts *facts, const tide_lifetime *block, series *to) {
    to->n_overlaps += to->n > 0 && to->older > block->born;
    to->has_three = to->has_three || (to->n > 1 && to->oldest > block->born);
    to->n_at_peak += tide_lifetime_is_allocated(block, facts->peak_event);
    to->oldest = to->older;
    to->older = block->freed;
    to->n++;
}

/* Only models count: other tensors may be computed from the old one, which then has to live. */
static bool is_of_model(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t traits = tide_facts_traits(facts, block);
    bool is_made =
        (traits & (TIDE_IN_MODULE_INIT | TIDE_IN_INIT | TIDE_IN_CONVERSION | TIDE_IN_LOAD)) != 0;
    return is_made && (traits & (TIDE_IN_FORWARD | TIDE_IN_OPTIMIZER | TIDE_IN_DEEPCOPY)) == 0 &&
           tide_stack_program(&facts->stacks, block->stack) != TIDE_NONE &&
           !tide_block_is_backward(&facts->lines, block);
}

/* Whether blocks like this one are made anew while the last one lives. */
static bool is_rebuilt(const tide_facts *facts, const tide_lifetime *like) {
    series of = {.n = 0};
    uint32_t line = tide_stack_program(&facts->stacks, like->stack);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && block->block_bytes == like->block_bytes &&
            block->born > 0 && tide_stack_program(&facts->stacks, block->stack) == line &&
            is_of_model(facts, block)) {
            add_block(facts, block, &of);
        }
    }
    return of.n >= LEAST_MADE && of.n_at_peak == 2 && !of.has_three &&
           of.n_overlaps * 100 >= (of.n - 1) * OVERLAP_PERCENT;
}

tide_status tide_cause_rebuilt(const tide_facts *facts, tide_causes *to) {
    const tide_lifetime *largest = NULL;
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if ((int64_t)block->block_bytes >= facts->peak_bytes / 100 * LEAST_PERCENT &&
            (largest == NULL || block->block_bytes > largest->block_bytes) &&
            is_of_model(facts, block) && is_rebuilt(facts, block)) {
            largest = block;
        }
    }
    if (largest == NULL) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "Two blocks of %s from the same line, %s, are allocated at the peak. The old "
                  "one is freed only after the new one is made.",
                  tide_bytes_format((int64_t)largest->block_bytes, bytes),
                  tide_cause_quoted(facts, tide_block_line(&facts->lines, largest), "", place));
    const tide_cause cause = {
        .id = "old_kept_while_new",
        .tier = TIDE_TIER_PEAK,
        .share = 2 * (double)largest->block_bytes / (double)facts->peak_bytes,
        .bytes = (int64_t)largest->block_bytes,
        .words = words,
        .cure = "`del` the old one before making the new one; if a call raised an exception in a "
                "console or a notebook, `del` does not help, because the exception holds the "
                "frames of the call: set `sys.last_value = sys.last_traceback = sys.last_exc = "
                "None` first"};
    return tide_causes_add(to, &cause);
}

/* ---- results of the pass before ---- */

/* The pass of a loop that the peak is in. */
typedef struct passes {
    const tide_loop *loop;
    uint32_t first, begin, end; /* rows: of the pass before, of this one, of the next */
} passes;

static bool find_passes(const tide_facts *facts, const tide_loop *loop, passes *ret) {
    for (size_t i = 1; i < loop->n_starts; i++) {
        size_t end = i + 1 < loop->n_starts ? loop->starts[i + 1] : loop->end;
        if ((int64_t)loop->starts[i] <= facts->peak_event && facts->peak_event < (int64_t)end) {
            *ret = (passes){loop, loop->starts[i - 1], loop->starts[i], (uint32_t)end};
            return true;
        }
    }
    return false;
}

/* Births count from 1. */
static bool is_born_in(const tide_lifetime *block, uint32_t begin, uint32_t end) {
    return block->born > begin && block->born <= end;
}

static bool is_result(const tide_facts *facts, const tide_lifetime *block) {
    return block->device == facts->device && block->category != TIDE_WORKSPACE &&
           tide_block_is_forward(&facts->lines, block) && !tide_cause_is_state(facts, block) &&
           !tide_cause_is_pooled(facts, block);
}

/* The place of a block, and its size. */
static uint64_t key_of(const tide_facts *facts, const tide_lifetime *block) {
    return tide_hash_u64(tide_place_key(&facts->scopes, block->stack, block->scope) ^
                         tide_hash_u64(block->requested_bytes));
}

/* What this pass had made at the peak, by place; and whether the pass before trained. */
static tide_status find_twins(const tide_facts *facts, const passes *of, tide_map *twins,
                              bool *ret_trains) {
    *ret_trains = false;
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        *ret_trains = *ret_trains || (is_born_in(block, of->first, of->begin) &&
                                      tide_block_is_backward(&facts->lines, block));
        if (is_born_in(block, of->begin, of->end) &&
            tide_lifetime_is_allocated(block, facts->peak_event) && is_result(facts, block)) {
            TIDE_TRY(tide_map_put(twins, key_of(facts, block), 1));
        }
    }
    return TIDE_OK;
}

/* Adds the results of the pass before whose twins this pass has made, and that end with it. */
static tide_status find_old(const tide_facts *facts, const passes *of, tide_cause_blocks *to) {
    tide_map twins;
    bool trains = false;
    tide_map_init(&twins, facts->mem);
    tide_status status = find_twins(facts, of, &twins, &trains);
    to->n_blocks = 0;
    to->bytes = 0;
    for (size_t i = 0; status == TIDE_OK && trains && i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        uint64_t one = 0;
        if (is_born_in(block, of->first, of->begin) && is_result(facts, block) &&
            block->freed != TIDE_LIFETIME_FOREVER && block->freed <= of->end + 1 &&
            tide_map_find(&twins, key_of(facts, block), &one)) {
            to->blocks[to->n_blocks++] = facts->peak[i];
            to->bytes += (int64_t)block->block_bytes;
        }
    }
    tide_map_fini(&twins);
    return status;
}

/* Most bytes of this pass without the old results: a later instant may be nearly as full. */
static tide_status peak_without(const tide_facts *facts, const passes *of,
                                const tide_cause_blocks *old, int64_t *ret_bytes) {
    size_t n_rows = of->end - of->begin + 1;
    int64_t *changes = tide_hostmem_zeroed(facts->mem, n_rows, sizeof(*changes));
    int64_t bytes = 0;
    size_t next = 0;
    if (changes == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_old = next < old->n_blocks && old->blocks[next] == i;
        next += is_old;
        if (is_old || block->device != facts->device || block->born > of->end ||
            block->freed <= of->begin) {
            continue;
        }
        changes[block->born > of->begin ? block->born - of->begin : 0] +=
            (int64_t)block->block_bytes;
        if (block->freed <= of->end) {
            changes[block->freed - of->begin] -= (int64_t)block->block_bytes;
        }
    }
    *ret_bytes = 0;
    for (size_t i = 0; i < n_rows; i++) {
        bytes += changes[i];
        *ret_bytes = bytes > *ret_bytes ? bytes : *ret_bytes;
    }
    facts->mem->release(facts->mem->ctx, changes);
    return TIDE_OK;
}

/* The node of the loop's own function in a stack; TIDE_NONE. */
static uint32_t node_of_loop(const tide_facts *facts, uint32_t stack, const tide_loop *loop) {
    for (; stack != TIDE_NONE; stack = facts->snapshot->stacks[stack].parent) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[stack].frame];
        if (row->function == loop->function && row->file == loop->file) {
            return stack;
        }
    }
    return TIDE_NONE;
}

static tide_status say_overlap(const tide_facts *facts, const tide_cause_blocks *of,
                               const tide_loop *loop, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    uint32_t line = TIDE_NONE;
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "old_results_alive", of->bytes);
    uint32_t caller = node_of_loop(facts, tide_facts_block(facts, of->blocks[0])->stack, loop);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, " are results of the pass before, which stay alive until this pass has "
                         "made its own");
    if (line != TIDE_NONE && line != caller) {
        tide_text_add(&text, ", at %s", tide_cause_quoted(facts, line, "", place));
    }
    if (caller != TIDE_NONE) {
        tide_text_add(&text, ": the loop still holds what it got at %s",
                      tide_cause_quoted(facts, caller, "", place));
    }
    tide_text_add(&text, ".");
    cause.words = words;
    cause.cure = "`del` these results (outputs, loss) at the end of the loop's body, or return "
                 "only what is needed: numbers (`loss.item()`)";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_overlap(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of = {.mem = facts->mem};
    passes best = {.loop = NULL};
    int64_t most = 0;
    tide_status status = TIDE_OK;
    if (tide_causes_find(to, "untrained_graph") != NULL) {
        return TIDE_OK; /* its cure frees such results as well */
    }
    of.blocks = tide_hostmem_array(facts->mem, facts->n_peak, sizeof(*of.blocks));
    if (of.blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < facts->loops.n_loops && status == TIDE_OK; i++) {
        passes found;
        if (find_passes(facts, &facts->loops.loops[i], &found)) {
            status = find_old(facts, &found, &of);
            best = of.bytes > most ? found : best;
            most = of.bytes > most ? of.bytes : most;
        }
    }
    if (status == TIDE_OK && most >= LEAST_BYTES) {
        int64_t rest = 0;
        status = find_old(facts, &best, &of);
        status = status == TIDE_OK ? peak_without(facts, &best, &of, &rest) : status;
        bool is_much =
            (double)(facts->peak_bytes - rest) >= LEAST_OVERLAP * (double)facts->peak_bytes;
        status = status == TIDE_OK && is_much ? say_overlap(facts, &of, best.loop, to) : status;
    }
    tide_cause_blocks_fini(&of);
    return status;
}
