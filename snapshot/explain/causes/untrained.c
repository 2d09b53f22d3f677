/* A pattern of the peak: the graph of a forward call that no backward pass ever uses. */
#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/ends.h"

#define LEAST_GRAPH 0.15     /* of the peak */
#define LEAST_UNTRAINED 0.90 /* of what the call keeps: places that no backward pass frees */
#define WASTE 0.3            /* added to the share: the graph serves no purpose */

enum {
    LEAST_BLOCKS = 8, /* of the graph; fewer may be results that a variable holds */
    LEAST_PLACES = 3, /* of the graph */
    MOST_CALLS = 16   /* lines that call models, that are looked at */
};

/* A result that a forward call of a module made while autograd recorded. */
static bool is_recorded(const tide_facts *facts, const tide_lifetime *block) {
    const uint32_t other = TIDE_IN_CAPTURE | TIDE_IN_RECOMPUTE;
    return block->device == facts->device && block->category != TIDE_WORKSPACE &&
           tide_cause_mode(facts, block) == TIDE_AUTOGRAD_ON &&
           tide_block_is_forward(&facts->lines, block) && !tide_cause_is_state(facts, block) &&
           !tide_cause_is_pooled(facts, block) && (tide_facts_traits(facts, block) & other) == 0;
}

/* What one line that calls models keeps at the peak. */
typedef struct call {
    uint32_t node; /* the line */
    size_t n_blocks, n_places;
    int64_t bytes;      /* of places that no backward pass frees */
    int64_t used_bytes; /* of the others */
} call;

typedef struct calls {
    call calls[MOST_CALLS];
    size_t n;
} calls;

static call *call_of(const tide_facts *facts, uint32_t stack, calls *of) {
    uint32_t node = facts->stacks.visible[stack];
    for (size_t i = 0; i < of->n; i++) {
        if (of->calls[i].node == node) {
            return &of->calls[i];
        }
    }
    if (node == TIDE_NONE || of->n == MOST_CALLS) {
        return NULL;
    }
    of->calls[of->n] = (call){.node = node};
    return &of->calls[of->n++];
}

static tide_status find_calls(const tide_facts *facts, const tide_cause_blocks *of,
                              const tide_cause_ends *ends, calls *to) {
    tide_map seen; /* places that are counted */
    tide_status status = TIDE_OK;
    tide_map_init(&seen, facts->mem);
    for (size_t i = 0; i < of->n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, of->blocks[i]);
        uint64_t key = tide_place_key(&facts->scopes, block->stack, block->scope);
        uint64_t n = 0;
        call *at = block->stack != TIDE_NONE ? call_of(facts, block->stack, to) : NULL;
        if (at == NULL) {
            continue;
        }
        if (tide_cause_ends_of(ends, block) != TIDE_END_ELSEWHERE) {
            at->used_bytes += (int64_t)block->block_bytes;
            continue;
        }
        at->bytes += (int64_t)block->block_bytes;
        at->n_blocks++;
        if (!tide_map_find(&seen, key, &n)) {
            at->n_places++;
            status = tide_map_put(&seen, key, 1);
        }
    }
    tide_map_fini(&seen);
    return status;
}

static bool is_untrained(const tide_facts *facts, const call *of) {
    return (double)of->bytes >= LEAST_GRAPH * (double)facts->peak_bytes &&
           (double)of->bytes >= LEAST_UNTRAINED * (double)(of->bytes + of->used_bytes) &&
           of->n_blocks >= LEAST_BLOCKS && of->n_places >= LEAST_PLACES;
}

static tide_status say(const tide_facts *facts, const call *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "untrained_graph", of->bytes);
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text,
                  " is the autograd graph of the forward pass at %s: %zu tensors, kept because "
                  "gradients are enabled there, and no backward pass uses them.",
                  tide_cause_quoted(facts, of->node, "", place), of->n_blocks);
    cause.words = words;
    cause.share += WASTE;
    cause.cure = "call it under `with torch.no_grad():`, as a teacher, a reference model, log "
                 "probabilities that are only compared, or an evaluation need";
    return tide_causes_add(to, &cause);
}

static tide_status look(const tide_facts *facts, tide_cause_blocks *of, tide_cause_ends *ends,
                        tide_causes *to) {
    calls found = {.n = 0};
    const call *most = NULL;
    TIDE_TRY(tide_cause_blocks_init(of, facts, is_recorded));
    if (!tide_cause_blocks_reach(of, facts, LEAST_GRAPH)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_cause_ends_init(ends, facts, is_recorded));
    TIDE_TRY(find_calls(facts, of, ends, &found));
    for (size_t i = 0; i < found.n; i++) {
        bool is_more = most == NULL || found.calls[i].bytes > most->bytes;
        most = is_more && is_untrained(facts, &found.calls[i]) ? &found.calls[i] : most;
    }
    return most != NULL ? say(facts, most, to) : TIDE_OK;
}

tide_status tide_cause_untrained(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of = {0};
    tide_cause_ends ends = {0};
    bool is_silent = facts->snapshot->event_mode == NULL ||
                     tide_causes_find(to, "graph_kept") != NULL;
    tide_status status = is_silent ? TIDE_OK : look(facts, &of, &ends, to);
    tide_cause_blocks_fini(&of);
    tide_cause_ends_fini(&ends);
    return status;
}
