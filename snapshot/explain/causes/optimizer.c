/* Patterns of the peak: what optimizers make. */
#include <string.h>

#include "snapshot/explain/causes/blocks.h"

#define LEAST_FOREACH 0.08 /* of the peak, in temporaries of a step */
#define LEAST_LBFGS 0.20   /* of the peak, in vectors of L-BFGS */

enum {
    LEAST_TEMPORARIES = 4, /* a list of tensors, not a scratch tensor */
    LEAST_VECTORS = 4,     /* of L-BFGS: direction, gradient, and one pair of its history */
    VECTORS = 200          /* of a full history of the default length */
};

/* ---- temporaries of foreach ---- */

static bool is_foreach(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t traits = tide_facts_traits(facts, block);
    return (traits & TIDE_IN_OPTIMIZER) != 0 && (traits & TIDE_IN_FOREACH) != 0 &&
           block->category != TIDE_OPTIMIZER_STATE && block->category != TIDE_PARAMETER &&
           block->category != TIDE_GRADIENT;
}

/* The row of the first allocation after the peak that no optimizer made, or the end. */
static size_t end_of_step(const tide_facts *facts) {
    const tide_event_table *events = &facts->snapshot->events;
    size_t row = (size_t)(facts->peak_event + 1);
    for (; row < facts->snapshot->n_events; row++) {
        uint32_t stack = tide_index_at(&events->stack, row);
        if (events->action[row] == TIDE_ACTION_ALLOC && events->device[row] == facts->device &&
            (tide_stack_traits(&facts->stacks, stack) & TIDE_IN_OPTIMIZER) == 0) {
            break;
        }
    }
    return row;
}

/* State that the same functions make stays after the step: it is no temporary. */
static void keep_temporaries(const tide_facts *facts, tide_cause_blocks *of) {
    size_t end = end_of_step(facts);
    size_t n = 0;
    of->bytes = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, of->blocks[i]);
        if (block->freed != TIDE_LIFETIME_FOREVER && block->freed <= end + 1) {
            of->blocks[n++] = of->blocks[i];
            of->bytes += (int64_t)block->block_bytes;
        }
    }
    of->n_blocks = n;
}

/* Whether the optimizer also has a fused step, by the file of its innermost frame. */
static bool has_fused(const tide_facts *facts, const tide_lifetime *block) {
    static const char *const FILES[] = {"optim/adam.py", "optim/adamw.py", "optim/sgd.py",
                                        "optim/adagrad.py"};
    uint32_t at = block->stack;
    for (; at != TIDE_NONE; at = facts->snapshot->stacks[at].parent) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[at].frame];
        const char *file = tide_snapshot_text(facts->snapshot, row->file);
        for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
            if (strstr(file, FILES[i]) != NULL) {
                return true;
            }
        }
    }
    return false;
}

static tide_status say_foreach(const tide_facts *facts, const tide_cause_blocks *of,
                               tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "foreach_temporaries", of->bytes);
    bool is_fused = has_fused(facts, tide_facts_block(facts, of->blocks[0]));
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_text_add(&text, "Temporary tensors of the optimizer's step make up ");
    tide_cause_add_bytes(facts, of->bytes, &text);
    if (line != TIDE_NONE) {
        tide_text_add(&text, ", at %s", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, ": the default implementation, foreach, updates all parameters together "
                         "and makes lists of tensors as large as the parameters.");
    cause.words = words;
    cause.cure = is_fused ? "pass `fused=True` to the optimizer, which needs no such tensors, or "
                            "`foreach=False`"
                          : "pass `foreach=False` to the optimizer";
    cause.cost = is_fused ? "foreach=False starts many more kernels; fused=True does not"
                          : "many more kernels are started in each step";
    cause.changes = is_fused ? "fused" : "no_foreach";
    cause.is_offered = true;
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_foreach(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    tide_status status = tide_cause_blocks_init(&of, facts, is_foreach);
    if (status == TIDE_OK) {
        keep_temporaries(facts, &of);
        if (of.n_blocks >= LEAST_TEMPORARIES &&
            tide_cause_blocks_reach(&of, facts, LEAST_FOREACH)) {
            status = say_foreach(facts, &of, to);
        }
    }
    tide_cause_blocks_fini(&of);
    return status;
}

/* ---- L-BFGS ---- */

static bool is_lbfgs(const tide_facts *facts, const tide_lifetime *block) {
    return (tide_facts_traits(facts, block) & TIDE_IN_LBFGS) != 0 &&
           !tide_block_is_backward(&facts->lines, block);
}

static tide_status say_lbfgs(const tide_facts *facts, uint64_t size, size_t n, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "lbfgs_history", (int64_t)(size * n));
    tide_text_add(&text, "L-BFGS itself holds ");
    tide_cause_add_bytes(facts, (int64_t)(size * n), &text);
    tide_text_add(&text, ", in %zu vectors of %s as long as all parameters together.", n,
                  tide_bytes_format((int64_t)size, bytes));
    tide_text_add(&text,
                  " Each iteration adds two to its history, up to `history_size` iterations: with "
                  "the default of 100, %s.",
                  tide_bytes_format((int64_t)(size * VECTORS), bytes));
    cause.words = words;
    cause.cure = "pass a smaller `history_size`, such as 10, to `torch.optim.LBFGS`";
    cause.cost = "a coarser estimate of the curvature, and so at times more iterations";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_lbfgs(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    uint64_t size = 0;
    size_t n = 0;
    tide_status status = tide_cause_blocks_init(&of, facts, is_lbfgs);
    if (status == TIDE_OK && tide_cause_blocks_reach(&of, facts, LEAST_LBFGS)) {
        status = tide_cause_blocks_common_size(&of, facts, &size, &n);
        bool is_most = 2 * size * n >= (uint64_t)of.bytes;
        if (status == TIDE_OK && n >= LEAST_VECTORS && is_most) {
            status = say_lbfgs(facts, size, n, to);
        }
    }
    tide_cause_blocks_fini(&of);
    return status;
}
