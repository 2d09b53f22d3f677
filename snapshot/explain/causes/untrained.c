/* A pattern of the peak: the graph of a forward call that no backward pass ever uses. */
#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/ends.h"

#define LEAST_GRAPH 0.15     /* of the peak */
#define LEAST_UNTRAINED 0.90 /* of what the call keeps: places that no backward pass frees */
#define WASTE 0.3            /* added to the share: the graph serves no purpose */

enum {
    LEAST_REPEATS = 4, /* of one call stack: layers of one kind. Each keeps its result .. */
    LEAST_STACKS = 3,  /* .. and a graph keeps more of each layer than its result */
    MOST_CALLS = 64    /* lines and their callers, that are looked at */
};

/* What the program made while autograd recorded, outside of the optimizer and of CUDA graphs. */
static bool is_recorded(const tide_facts *facts, const tide_lifetime *block) {
    const uint32_t other = TIDE_IN_CAPTURE | TIDE_IN_RECOMPUTE | TIDE_IN_OPTIMIZER;
    return block->category != TIDE_WORKSPACE && tide_cause_mode(facts, block) == TIDE_AUTOGRAD_ON &&
           !tide_block_is_backward(&facts->lines, block) && !tide_cause_is_state(facts, block) &&
           !tide_cause_is_pooled(facts, block) && (tide_facts_traits(facts, block) & other) == 0;
}

/* What is alive at the peak below one line of the program. */
typedef struct call {
    uint32_t node;   /* the line */
    size_t n_stacks; /* that made LEAST_REPEATS blocks in calls of modules, which no backward pass
                        frees */
    int64_t graph_bytes; /* of such blocks */
    int64_t bytes;       /* of all that no backward pass frees */
    int64_t used_bytes;  /* of what a backward pass frees */
} call;

typedef struct calls {
    call calls[MOST_CALLS];
    size_t n;
    tide_map n_of; /* a line and a call stack -> number of blocks */
} calls;

static call *call_of(uint32_t node, calls *of) {
    for (size_t i = 0; i < of->n; i++) {
        if (of->calls[i].node == node) {
            return &of->calls[i];
        }
    }
    if (of->n == MOST_CALLS) {
        return NULL;
    }
    of->calls[of->n] = (call){.node = node};
    return &of->calls[of->n++];
}

static tide_status add(const tide_facts *facts, const tide_lifetime *block, bool is_used, calls *to,
                       call *at) {
    const uint64_t key = (uint64_t)at->node << 32 | block->stack;
    uint64_t n = 0;
    int64_t bytes = (int64_t)block->block_bytes;
    at->used_bytes += is_used ? bytes : 0;
    at->bytes += is_used ? 0 : bytes;
    if (is_used || !tide_block_is_forward(&facts->lines, block)) {
        return TIDE_OK;
    }
    (void)tide_map_find(&to->n_of, key, &n);
    at->graph_bytes += bytes;
    at->n_stacks += n + 1 == LEAST_REPEATS;
    return tide_map_put(&to->n_of, key, n + 1);
}

static tide_status find_calls(const tide_facts *facts, const tide_cause_blocks *of,
                              const tide_cause_ends *ends, calls *to) {
    for (size_t i = 0; i < of->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, of->blocks[i]);
        bool is_used = tide_cause_ends_of(ends, block) != TIDE_END_ELSEWHERE;
        uint32_t node = block->stack != TIDE_NONE ? facts->stacks.visible[block->stack] : TIDE_NONE;
        for (; node != TIDE_NONE; node = tide_stack_visible_caller(&facts->stacks, node)) {
            call *at = call_of(node, to);
            if (at != NULL) {
                TIDE_TRY(add(facts, block, is_used, to, at));
            }
        }
    }
    return TIDE_OK;
}

static bool is_pure(const call *of) {
    return (double)of->bytes >= LEAST_UNTRAINED * (double)(of->bytes + of->used_bytes);
}

static bool is_untrained(const tide_facts *facts, const call *of) {
    return (double)of->graph_bytes >= LEAST_GRAPH * (double)facts->peak_bytes && is_pure(of) &&
           of->n_stacks >= LEAST_STACKS;
}

/* Whether a line is called, through others, by the outer one. */
static bool is_below(const tide_facts *facts, const call *inner, const call *outer) {
    uint32_t node = inner->node;
    do {
        node = tide_stack_visible_caller(&facts->stacks, node);
    } while (node != TIDE_NONE && node != outer->node);
    return node != TIDE_NONE;
}

/* The innermost line with the most bytes, and its outermost caller below which a backward pass
 * frees nothing either: NULL: none. */
static const call *find_most(const tide_facts *facts, calls *of, uint32_t *ret_inner) {
    const call *most = NULL;
    for (size_t i = 0; i < of->n; i++) {
        const call *at = &of->calls[i];
        bool is_more = most == NULL || is_below(facts, at, most) ||
                       (!is_below(facts, most, at) && at->graph_bytes > most->graph_bytes);
        most = is_more && is_untrained(facts, at) ? at : most;
    }
    *ret_inner = most != NULL ? most->node : TIDE_NONE;
    for (uint32_t node = *ret_inner; node != TIDE_NONE;) {
        node = tide_stack_visible_caller(&facts->stacks, node);
        const call *outer = node != TIDE_NONE ? call_of(node, of) : NULL;
        if (outer == NULL || !is_pure(outer)) {
            break;
        }
        most = outer;
    }
    return most;
}

static tide_status say(const tide_facts *facts, const call *of, uint32_t inner, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "untrained_graph", of->bytes);
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, " is the autograd graph of the forward pass at %s",
                  tide_cause_quoted(facts, inner, "", place));
    if (of->node != inner) {
        tide_text_add(&text, ", called at %s", tide_cause_quoted(facts, of->node, "", place));
    }
    tide_text_add(&text, ": gradients are enabled there, and no backward pass uses it.");
    cause.words = words;
    cause.share += WASTE;
    cause.cure = "make this call under `with torch.no_grad():`, as for a teacher, a reference "
                 "model, log probabilities that are only compared, or an evaluation";
    return tide_causes_add(to, &cause);
}

/* Whether the forward pass at the line also made something while gradients were disabled. Autocast
 * enables them for its copies of weights, which are not a graph. */
static bool is_disabled(const tide_facts *facts, uint32_t line) {
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        uint32_t node = block->stack != TIDE_NONE ? facts->stacks.visible[block->stack] : TIDE_NONE;
        if (node == line && tide_cause_mode(facts, block) > TIDE_AUTOGRAD_ON &&
            tide_block_is_forward(&facts->lines, block)) {
            return true;
        }
    }
    return false;
}

static tide_status look(const tide_facts *facts, tide_cause_blocks *of, tide_cause_ends *ends,
                        tide_causes *to) {
    TIDE_TRY(tide_cause_blocks_init(of, facts, is_recorded));
    if (!tide_cause_blocks_reach(of, facts, LEAST_GRAPH)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_cause_ends_init(ends, facts, is_recorded));
    calls found = {.n = 0};
    uint32_t inner = TIDE_NONE;
    tide_map_init(&found.n_of, facts->mem);
    tide_status status = find_calls(facts, of, ends, &found);
    tide_map_fini(&found.n_of);
    const call *most = status == TIDE_OK ? find_most(facts, &found, &inner) : NULL;
    return most != NULL && !is_disabled(facts, inner) ? say(facts, most, inner, to) : status;
}

tide_status tide_cause_untrained(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of = {0};
    tide_cause_ends ends = {0};
    bool is_silent =
        facts->snapshot->event_mode == NULL || tide_causes_find(to, "graph_kept") != NULL;
    tide_status status = is_silent ? TIDE_OK : look(facts, &of, &ends, to);
    tide_cause_blocks_fini(&of);
    tide_cause_ends_fini(&ends);
    return status;
}
