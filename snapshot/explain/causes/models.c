/* A pattern of growth that the loops do not show: models of earlier rounds, such as the folds of a
 * cross validation, are still allocated while a later one is trained. */
#include "snapshot/explain/causes/blocks.h"

enum {
    LEAST_ROUNDS = 3,       /* in which the same weight was made */
    LEAST_PERCENT = 20,     /* of the peak, at least, of earlier rounds */
    LEAST_COPIES = 3,       /* of models that deepcopy made */
    LEAST_WEIGHTS = 16,     /* of a round that is a whole model .. */
    LEAST_EQUAL = 2,        /* .. and rounds that are equal to the one before */
    BARE_PERCENT = 95,      /* of the earlier rounds' bytes, in weights */
    MOST_BURST_ROWS = 20000 /* between two frees of one burst */
};

/* A round begins where weights are made after something was trained; with `by_forward`, after a
 * forward pass. */
typedef struct rounds {
    bool by_forward;
    uint32_t first_of_peak;      /* birth of the first weight of the round in which the peak is */
    size_t n;                    /* up to the peak */
    bool has_run;                /* such a pass, since the last weight */
    size_t n_weights, n_of_last; /* of this round, and of the one before */
    int64_t bytes, bytes_of_last;
    size_t n_equal; /* rounds with the weights of the one before, of at least LEAST_WEIGHTS */
} rounds;

/* Weights that a constructor, a conversion or a copy of a module made on a line of the program. */
static bool is_built(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t traits = tide_facts_traits(facts, block);
    bool is_made = (traits & (TIDE_IN_MODULE_INIT | TIDE_IN_CONVERSION | TIDE_IN_DEEPCOPY)) != 0;
    return block->device == facts->device && block->born > 0 && is_made &&
           (traits & (TIDE_IN_FORWARD | TIDE_IN_OPTIMIZER)) == 0 &&
           tide_stack_program(&facts->stacks, block->stack) != TIDE_NONE &&
           !tide_block_is_backward(&facts->lines, block);
}

static void follow(const tide_facts *facts, const tide_lifetime *block, rounds *to) {
    if (!is_built(facts, block)) {
        to->has_run = to->has_run || tide_block_is_backward(&facts->lines, block) ||
                      (to->by_forward && tide_block_is_forward(&facts->lines, block));
        return;
    }
    if (to->has_run || to->n == 0) {
        to->n++;
        to->first_of_peak = block->born;
        to->n_equal += to->n_weights >= LEAST_WEIGHTS && to->n_weights == to->n_of_last &&
                       to->bytes == to->bytes_of_last;
        to->n_of_last = to->n_weights;
        to->bytes_of_last = to->bytes;
        to->n_weights = 0;
        to->bytes = 0;
    }
    to->has_run = false;
    to->n_weights++;
    to->bytes += (int64_t)block->block_bytes;
}

/* What a round leaves: weights, gradients, and the optimizer's state. */
static bool is_of_round(const tide_facts *facts, const tide_lifetime *block) {
    return tide_cause_is_state(facts, block) && block->category != TIDE_INPUT && block->born > 0;
}

/* The blocks of earlier rounds at the peak. */
typedef struct older {
    int64_t bytes, weight_bytes;
    const tide_lifetime *largest; /* weight of an earlier round */
} older;

static older find_older(const tide_facts *facts, uint32_t first_of_peak) {
    older found = {.bytes = 0};
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (block->born >= first_of_peak || !is_of_round(facts, block)) {
            continue;
        }
        found.bytes += (int64_t)block->block_bytes;
        found.weight_bytes += tide_cause_is_weight(facts, block) ? (int64_t)block->block_bytes : 0;
        if (is_built(facts, block) &&
            (found.largest == NULL || block->block_bytes >= found.largest->block_bytes)) {
            found.largest = block;
        }
    }
    return found;
}

/* In how many rounds a weight like this one was made, and how many of these are earlier than the
 * peak's round and have it at the peak. */
typedef struct series {
    size_t n_rounds, n_kept;
    bool is_in_peak;    /* the peak's round made one */
    bool is_collected;  /* those of two rounds were freed one right after the other */
    uint32_t freed;     /* of the last one */
    size_t freed_round; /* of the last one */
} series;

/* The first row from `from` on that allocates; the number of rows if none does. */
static size_t next_alloc(const tide_facts *facts, uint32_t from) {
    size_t row = from;
    while (row < facts->snapshot->n_events &&
           facts->snapshot->events.action[row] != TIDE_ACTION_ALLOC) {
        row++;
    }
    return row;
}

/* Whether nothing is allocated between two frees, but something after them: code that frees a model
 * when it no longer needs it allocates the next one in between, and the end of a program frees all.
 */
static bool is_burst(const tide_facts *facts, uint32_t a, uint32_t b) {
    uint32_t from = a < b ? a : b;
    uint32_t to = a < b ? b : a;
    if (from == 0 || to == TIDE_LIFETIME_FOREVER || to - from > MOST_BURST_ROWS) {
        return false;
    }
    size_t next = next_alloc(facts, from);
    return next >= to && next < facts->snapshot->n_events;
}

static series find_series(const tide_facts *facts, const tide_lifetime *like,
                          const rounds *at_peak) {
    series found = {.n_rounds = 0};
    rounds of = {.by_forward = at_peak->by_forward};
    uint32_t first_of_peak = at_peak->first_of_peak;
    size_t last = 0;
    size_t last_kept = 0;
    uint32_t line = tide_stack_program(&facts->stacks, like->stack);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device != facts->device || (int64_t)block->born > facts->peak_event + 1) {
            continue;
        }
        follow(facts, block, &of);
        if (block->block_bytes != like->block_bytes || !is_built(facts, block) ||
            tide_stack_program(&facts->stacks, block->stack) != line) {
            continue;
        }
        bool is_kept =
            block->born < first_of_peak && tide_lifetime_is_allocated(block, facts->peak_event);
        found.n_rounds += of.n != last;
        found.n_kept += is_kept && of.n != last_kept;
        found.is_in_peak = found.is_in_peak || block->born >= first_of_peak;
        found.is_collected = found.is_collected || (of.n != found.freed_round &&
                                                    is_burst(facts, found.freed, block->freed));
        found.freed = block->freed;
        found.freed_round = of.n;
        last_kept = is_kept ? of.n : last_kept;
        last = of.n;
    }
    return found;
}

/* Models without gradients and state may be kept on purpose. */
static const char *cure_of(bool is_collected, bool is_bare) {
    if (is_collected) {
        return "call `gc.collect()` at the end of each round, or break the cycle: a hook or a "
               "scheduler that refers to the model or the optimizer, which refers to it";
    }
    return is_bare ? "unless you use them all later, as an ensemble does, `del` the model and what "
                     "refers to it (a list, a cache, a closure) at the end of each round, or keep "
                     "it on the host (`model.cpu()`)"
                   : "`del` the model, the optimizer and what refers to them (a list, a cache, a "
                     "closure) at the end of each round; if they refer to each other, as a "
                     "scheduler and its optimizer do, call `gc.collect()` then";
}

static tide_status say(const tide_facts *facts, const older *of, const series *like,
                       bool by_forward, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "models_kept", of->bytes);
    bool is_bare = of->weight_bytes > of->bytes / 100 * BARE_PERCENT;
    tide_text_add(&text, "Weights%s of earlier models make up ",
                  is_bare ? "" : ", gradients and optimizer state");
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text,
                  ": %s makes a model anew after each %s, and %zu of the earlier ones %s "
                  "still allocated.",
                  tide_cause_quoted(facts, tide_block_line(&facts->lines, of->largest), ",", place),
                  by_forward ? "forward pass" : "training", like->n_kept,
                  like->n_kept == 1 ? "is" : "are");
    if (like->is_collected) {
        tide_text_add(&text, " They are freed several at a time: unless the program empties a "
                             "list of them, by Python's garbage collector, because their objects "
                             "refer to each other.");
    }
    cause.tier = TIDE_TIER_GROWTH;
    cause.words = words;
    cause.cure = cure_of(like->is_collected, is_bare);
    cause.cost = like->is_collected ? "a collection takes milliseconds" : "";
    return tide_causes_add(to, &cause);
}

/* Without a training, layers that are built one by one, each after a forward pass that finds its
 * shape, look like models: only those count that are collected together, or that repeat many
 * weights. */
static tide_status find(const tide_facts *facts, bool by_forward, tide_causes *to) {
    rounds of = {.by_forward = by_forward};
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if ((int64_t)block->born > facts->peak_event + 1) {
            break; /* blocks are in order of birth */
        }
        if (block->device == facts->device) {
            follow(facts, block, &of);
        }
    }
    if (of.n < LEAST_ROUNDS) {
        return TIDE_OK;
    }
    const older found = find_older(facts, of.first_of_peak);
    if (found.largest == NULL || found.bytes < facts->peak_bytes / 100 * LEAST_PERCENT) {
        return TIDE_OK;
    }
    const series like = find_series(facts, found.largest, &of);
    bool is_copy = (tide_facts_traits(facts, found.largest) & TIDE_IN_DEEPCOPY) != 0;
    size_t least = is_copy ? LEAST_COPIES : 1; /* the best one so far is often kept */
    if (is_copy && facts->growth.n_facts > 0) {
        return TIDE_OK; /* the growth of copies has its own sentence, model_copies */
    }
    bool is_anew = like.n_rounds >= LEAST_ROUNDS && like.is_in_peak && like.n_kept >= least &&
                   (like.is_collected || !by_forward || of.n_equal >= LEAST_EQUAL);
    return is_anew ? say(facts, &found, &like, by_forward, to) : TIDE_OK;
}

tide_status tide_cause_models(const tide_facts *facts, tide_causes *to) {
    size_t n = to->n_causes;
    TIDE_TRY(find(facts, false, to));
    return to->n_causes == n ? find(facts, true, to) : TIDE_OK;
}
