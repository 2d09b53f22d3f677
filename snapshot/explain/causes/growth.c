/* Patterns of growth: what a loop keeps, and why. */
#include <string.h>

#include "common/map.h"
#include "common/text/plural.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/words/growth_words.h"
#include "snapshot/explain/words/user_line.h"

enum {
    LEAST_OF_GRAPH = 3,    /* blocks a pass, and places, of a graph that survives */
    COPIED_PERCENT = 50,   /* of the bytes, in copies of a model */
    MOST_OF_RESULT = 3,    /* blocks a pass, that may be results without a graph */
    PLACE_PERCENT = 95,    /* of the bytes, in one place, .. */
    LEAST_OF_CACHE = 8,    /* .. and so many blocks a pass: results, such as a cache of layers */
    CYCLE_PERCENT = 30,    /* of the bytes, gradients in a reference cycle */
    MOST_HOOKED = 2,       /* modules whose outputs are kept; a graph has more */
    GRADIENT_PERCENT = 20, /* of the bytes, made in the backward pass, of a hook on gradients .. */
    MOST_OF_HOOK = 2 /* .. which keeps so many blocks of a module in a pass; a graph keeps more */
};

/* What the kept blocks of one growth are. */
typedef struct kept {
    int64_t bytes;
    int64_t backward_bytes, copied_bytes;
    int64_t gradient_bytes;    /* of the backward pass, outside of every module: gradients */
    int64_t graph_bytes;       /* of these, made while autograd recorded: with create_graph=True */
    int64_t second_bytes;      /* of the backward pass, made while autograd recorded */
    size_t n_on, n_off;        /* made outside of the backward pass with autograd on, and off */
    bool has_modes;            /* whether autograd was on was recorded */
    size_t n_forward, n_other; /* made inside a call of a module, and outside */
    size_t n_inside;           /* made in a forward pass by a library's line */
    size_t n_places;           /* distinct stacks, modules and nodes */
    size_t n_frames;           /* distinct innermost Python frames */
    int64_t place_bytes;       /* of the place with most bytes .. */
    size_t n_of_place;         /* .. its blocks */
    bool has_pool;             /* some are in a private pool */
    bool is_captured;          /* some were made while a CUDA graph was captured */
    const char *module;        /* with the most blocks that were made inside; "": unknown */
    size_t n_modules;
    const char *copier; /* the function that copied: "deepcopy"; "" */
} kept;

/* ---- what the blocks are ---- */

static void look_at_mode(const tide_facts *facts, const tide_lifetime *block, bool is_backward,
                         kept *ret) {
    uint8_t mode = tide_cause_mode(facts, block);
    bool is_gradient = is_backward && tide_module_of(&facts->scopes, block->scope) == TIDE_NONE;
    int64_t bytes = is_gradient ? (int64_t)block->block_bytes : 0;
    ret->has_modes = ret->has_modes || mode != TIDE_AUTOGRAD_UNKNOWN;
    ret->gradient_bytes += bytes;
    ret->graph_bytes += mode == TIDE_AUTOGRAD_ON ? bytes : 0;
    ret->second_bytes += is_backward && mode == TIDE_AUTOGRAD_ON ? (int64_t)block->block_bytes : 0;
    ret->n_on += !is_backward && mode == TIDE_AUTOGRAD_ON;
    ret->n_off += !is_backward && mode > TIDE_AUTOGRAD_ON;
}

/* The function that copied a whole model: deepcopy, or a conversion of a module. */
static const char *copier_of(const tide_facts *facts, uint32_t stack) {
    static const char *const NAMES[] = {"deepcopy", "half", "bfloat16", "float",
                                        "double",   "cuda", "to"};
    for (; stack != TIDE_NONE; stack = facts->snapshot->stacks[stack].parent) {
        const char *function = tide_cause_function(facts, stack);
        for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
            if (strcmp(function, NAMES[i]) == 0) {
                return NAMES[i];
            }
        }
    }
    return "";
}

static void look_at_block(const tide_facts *facts, const tide_lifetime *block, kept *ret) {
    uint32_t traits = tide_facts_traits(facts, block);
    bool is_forward = (traits & TIDE_IN_FORWARD) != 0;
    bool is_copy = (traits & (TIDE_IN_DEEPCOPY | TIDE_IN_CONVERSION)) != 0 ||
                   tide_cause_copies_state(facts, tide_stack_program(&facts->stacks, block->stack));
    bool is_backward = tide_block_is_backward(&facts->lines, block);
    uint32_t python = block->stack != TIDE_NONE ? facts->stacks.python[block->stack] : TIDE_NONE;
    bool is_inside = is_forward && !is_backward && python != TIDE_NONE &&
                     python != tide_stack_program(&facts->stacks, block->stack);
    ret->bytes += (int64_t)block->block_bytes;
    ret->backward_bytes += is_backward ? (int64_t)block->block_bytes : 0;
    ret->copied_bytes += is_copy ? (int64_t)block->block_bytes : 0;
    ret->n_forward += is_forward;
    ret->n_other += !is_forward;
    ret->n_inside += is_inside;
    look_at_mode(facts, block, is_backward, ret);
    ret->has_pool = ret->has_pool || tide_cause_is_pooled(facts, block);
    ret->is_captured = ret->is_captured || (traits & TIDE_IN_CAPTURE) != 0;
    if (is_copy && ret->copier[0] == '\0') {
        ret->copier = copier_of(facts, block->stack);
    }
}

static tide_status count_places(const tide_facts *facts, const tide_growth_fact *fact, kept *ret) {
    tide_map places;
    tide_map modules; /* module -> number of its blocks */
    tide_status status = TIDE_OK;
    uint64_t most = 0;
    uint64_t most_key = 0;
    tide_map_init(&places, facts->mem);
    tide_map_init(&modules, facts->mem);
    for (size_t i = 0; i < fact->n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, fact->blocks[i]);
        uint32_t module = tide_module_of(&facts->scopes, block->scope);
        uint64_t n = 0;
        uint64_t key = tide_place_key(&facts->scopes, block->stack, block->scope);
        (void)tide_map_find(&places, key, &n);
        n += block->block_bytes;
        most_key = (int64_t)n > ret->place_bytes ? key : most_key;
        ret->place_bytes = (int64_t)n > ret->place_bytes ? (int64_t)n : ret->place_bytes;
        status = tide_map_put(&places, key, n);
        n = 0;
        if (module == TIDE_NONE || status != TIDE_OK) {
            continue;
        }
        (void)tide_map_find(&modules, module, &n);
        status = tide_map_put(&modules, module, n + 1);
        if (n + 1 > most) {
            most = n + 1;
            ret->module = tide_snapshot_text(facts->snapshot, module);
        }
    }
    for (size_t i = 0; i < fact->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, fact->blocks[i]);
        ret->n_of_place += tide_place_key(&facts->scopes, block->stack, block->scope) == most_key;
    }
    ret->n_places = places.n_used;
    ret->n_modules = modules.n_used;
    tide_map_fini(&places);
    tide_map_fini(&modules);
    return status;
}

static tide_status count_frames(const tide_facts *facts, const tide_growth_fact *fact, kept *ret) {
    tide_map frames;
    tide_status status = TIDE_OK;
    tide_map_init(&frames, facts->mem);
    for (size_t i = 0; i < fact->n_blocks && status == TIDE_OK; i++) {
        uint32_t stack = tide_facts_block(facts, fact->blocks[i])->stack;
        uint32_t python = stack != TIDE_NONE ? facts->stacks.python[stack] : TIDE_NONE;
        if (python != TIDE_NONE) {
            status = tide_map_put(&frames, facts->snapshot->stacks[python].frame, 0);
        }
    }
    ret->n_frames = frames.n_used;
    tide_map_fini(&frames);
    return status;
}

static tide_status look_at(const tide_facts *facts, const tide_growth_fact *fact, kept *ret) {
    *ret = (kept){.module = "", .copier = ""};
    for (size_t i = 0; i < fact->n_blocks; i++) {
        look_at_block(facts, tide_facts_block(facts, fact->blocks[i]), ret);
    }
    TIDE_TRY(count_frames(facts, fact, ret));
    return count_places(facts, fact, ret);
}

/* Autograd was off where all of it was made. */
static bool is_off(const kept *of) {
    return of->n_off > 0 && of->n_on == 0 && of->backward_bytes == 0;
}

/* Most of it is gradients, which a backward pass without create_graph=True made: they hold no
 * graph. */
static bool is_plain_gradients(const kept *of) {
    return of->has_modes && of->graph_bytes == 0 && of->gradient_bytes > of->bytes / 2;
}

/* More than the results of a pass survive: what went into it, or tensors of many places in the
 * model. Only autograd's graph keeps these, unless it was off. */
static bool is_graph(const tide_growth_fact *fact, const kept *of) {
    bool has_both = of->n_forward > 0 && of->n_other > 0;
    bool is_cache = of->place_bytes > of->bytes / 100 * PLACE_PERCENT &&
                    of->n_of_place >= LEAST_OF_CACHE * fact->n_keeping;
    return !is_off(of) && fact->n_blocks >= LEAST_OF_GRAPH * fact->n_keeping && !is_cache &&
           (of->n_places >= LEAST_OF_GRAPH || has_both);
}

/* ---- words ---- */

/* The larger of what is kept and of what the peak has of it, over the peak. */
static double share_of(const tide_facts *facts, const tide_growth_fact *fact) {
    int64_t at_peak = 0;
    for (size_t i = 0; i < fact->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, fact->blocks[i]);
        at_peak +=
            tide_lifetime_is_allocated(block, facts->peak_event) ? (int64_t)block->block_bytes : 0;
    }
    int64_t bytes = at_peak > fact->bytes ? at_peak : fact->bytes;
    return (double)bytes / (double)facts->peak_bytes;
}

tide_cause tide_cause_of_growth(const tide_facts *facts, const tide_growth_fact *fact,
                                const char *id) {
    return (tide_cause){.id = id,
                        .tier = TIDE_TIER_GROWTH,
                        .share = share_of(facts, fact),
                        .growth = fact,
                        .bytes = fact->bytes};
}

/* Steps that a program in C names: what they keep is known, and not why. */
static tide_status say_steps(const tide_facts *facts, const tide_growth_fact *fact,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "kept_by_steps");
    tide_growth_add_kept(facts, fact, &text);
    tide_growth_add_line(facts, fact, &text);
    tide_text_add(&text, ".");
    cause.words = words;
    cause.cure = "release what a step allocates before the next step begins, or allocate it once "
                 "and use it again";
    return tide_causes_add(to, &cause);
}

/* ---- loops without a backward pass ---- */

static tide_status say_graph(const tide_facts *facts, const tide_growth_fact *fact, const kept *of,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    bool is_on = of->n_on > 0 && of->n_off == 0;
    tide_cause cause = tide_cause_of_growth(facts, fact, "graph_kept");
    tide_growth_add_kept(facts, fact, &text);
    tide_growth_add_line(facts, fact, &text);
    tide_text_add(&text,
                  ". It runs the model forward%s and never backward. Something that outlives one "
                  "%s, such as a list of outputs, a running sum of losses, or a state that is "
                  "carried over, keeps its autograd graph alive%s.",
                  is_on ? " with gradients enabled" : "", tide_growth_round(fact),
                  is_on ? "" : " (or, where gradients are disabled, only these tensors)");
    cause.words = words;
#define CURE                                                                                       \
    "run an evaluation under `with torch.no_grad():`, keep numbers instead of tensors (`total += " \
    "loss.item()`), and `.detach()` a state that is carried over; if you train on what is kept, "  \
    "call `backward()` on each part of it"
    cause.cure = is_on ? CURE
                       : CURE
                     "; if gradients are disabled already, clear the list, cache or hook "
                     "that keeps the tensors, or move what you keep to the host (`.cpu()`)";
#undef CURE
    return tide_causes_add(to, &cause);
}

int64_t tide_growth_largest(const tide_facts *facts, const tide_growth_fact *fact) {
    int64_t largest = 0;
    for (size_t i = 0; i < fact->n_blocks; i++) {
        int64_t bytes = (int64_t)tide_facts_block(facts, fact->blocks[i])->block_bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static tide_status say_results(const tide_facts *facts, const tide_growth_fact *fact,
                               const kept *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "results_collected");
    size_t n = (fact->n_blocks + fact->n_keeping / 2) / fact->n_keeping;
    tide_growth_add_kept(facts, fact, &text);
    tide_growth_add_line(facts, fact, &text);
    tide_cause_add_collecting_line(facts, fact, ", kept at ", &text);
    tide_text_add(&text, ": %zu %s each time%s. Results are collected on the card, not graphs%s.",
                  n > 0 ? n : 1, tide_plural(n > 1 ? n : 1, "tensor", "tensors"),
                  is_off(of) || is_plain_gradients(of) ? "" : ", fewer than a graph would have",
                  is_off(of) ? ": gradients are disabled there" : "");
    cause.words = words;
    cause.cure =
        "clear the list, cache or hook that keeps them once they are used, or move what you "
        "keep to the host (`.cpu()`); if you keep a slice such as `h[:, 0]`, copy it "
        "(`.clone()`), because a slice holds the whole tensor";
    cause.cost = "one copy to the host each time";
    return tide_causes_add(to, &cause);
}

static tide_status say_forward(const tide_facts *facts, const tide_growth_fact *fact,
                               const kept *of, tide_causes *to) {
    if (!fact->has_forward || of->has_pool) {
        return TIDE_OK;
    }
    if (is_graph(fact, of)) {
        return say_graph(facts, fact, of, to);
    }
    bool has_graphs = of->is_captured || facts->reserved.parts[TIDE_RESERVED_POOLS].n_owners > 0;
    return has_graphs ? TIDE_OK : say_results(facts, fact, of, to);
}

/* ---- loops with a backward pass ---- */

static tide_status say_copies(const tide_facts *facts, const tide_growth_fact *fact, const kept *of,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "model_copies");
    tide_growth_add_kept(facts, fact, &text);
    tide_growth_add_line(facts, fact, &text);
    tide_text_add(&text, ": copies of a whole model%s%s%s are never released.",
                  of->copier[0] != '\0' ? " (" : "", of->copier, of->copier[0] != '\0' ? ")" : "");
    cause.words = words;
    cause.cure = "keep the copies on the host: `{k: v.cpu() for k, v in "
                 "model.state_dict().items()}`, or save them to a file";
    cause.cost = "one copy to the host each time";
    return tide_causes_add(to, &cause);
}

static tide_status say_cycle(const tide_facts *facts, const tide_growth_fact *fact, const kept *of,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char share[TIDE_SHARE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "create_graph_cycle");
    tide_growth_add_kept(facts, fact, &text);
    tide_text_add(&text,
                  ", %s of it gradients that the backward pass of earlier iterations made. A "
                  "backward pass with `create_graph=True` leaves such gradients: the gradient "
                  "holds the graph and the graph holds the gradient, a reference cycle that only "
                  "Python's garbage collector ends.",
                  tide_cause_share((double)of->gradient_bytes / (double)of->bytes, share));
    cause.words = words;
    cause.cure = "use `torch.autograd.grad(loss, params, create_graph=True)` and do not store its "
                 "result in `.grad`, or set `p.grad = None` for all parameters at the end of an "
                 "iteration";
    return tide_causes_add(to, &cause);
}

static tide_status say_held(const tide_facts *facts, const tide_growth_fact *fact, const kept *of,
                            tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "activations_held");
    bool has_gradient = of->backward_bytes > of->bytes / 100 * GRADIENT_PERCENT;
    tide_growth_add_kept(facts, fact, &text);
    tide_text_add(&text,
                  ": the output of %s%s%s%s%s%s. The backward pass of that iteration is "
                  "over, so autograd does not need them. The program holds them, for "
                  "example in a hook that appends or in a list of features.",
                  of->n_modules > 1 ? "modules" : "one module",
                  of->module[0] != '\0' ? (of->n_modules > 1 ? " such as " : " (") : "", of->module,
                  of->module[0] != '\0' && of->n_modules <= 1 ? ")" : "",
                  has_gradient ? " and its gradient" : "", fact->every == 1 ? " each time" : "");
    cause.words = words;
    cause.cure = "store `output.detach().cpu()` in the hook, or overwrite the last one instead of "
                 "appending, and clear the list after each iteration";
    cause.cost = "one copy to the host each time";
    return tide_causes_add(to, &cause);
}

static tide_status say_kept_graph(const tide_facts *facts, const tide_growth_fact *fact,
                                  const kept *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    /* After a backward pass, a graph that is kept has many tensors; the results are few, or those
     * of one line, perhaps in each layer. */
    bool has_graph =
        of->n_frames >= LEAST_OF_GRAPH && fact->n_blocks > (size_t)MOST_OF_RESULT * fact->n_keeping;
    tide_cause cause = tide_cause_of_growth(facts, fact, "training_graph_kept");
    tide_growth_add_kept(facts, fact, &text);
    tide_growth_add_line(facts, fact, &text);
    tide_text_add(&text,
                  ". The backward pass of the same iteration does not release it: something that "
                  "outlives the iteration, such as a list of losses or outputs, a running sum, or "
                  "a state that is carried over, holds %s.",
                  has_graph ? "a graph that needs it"
                            : "these tensors themselves, or a graph that needs them");
    cause.words = words;
    cause.cure = has_graph
                     ? "keep the number (`losses.append(loss.item())`), and `.detach()` what you "
                       "keep or carry over"
                     : "clear the list once its values are used, keep numbers (`loss.item()`) or "
                       "host tensors (`.detach().cpu()`) in it, and `.detach()` a state that is "
                       "carried over";
    cause.cost = "each `.item()` and `.cpu()` waits for the card; `.detach()` does not";
    return tide_causes_add(to, &cause);
}

static tide_status say_second_order(const tide_facts *facts, const tide_growth_fact *fact,
                                    const kept *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char share[TIDE_SHARE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "second_order_graph");
    tide_growth_add_kept(facts, fact, &text);
    tide_text_add(&text,
                  ", %s of it made in backward passes. With `create_graph=True` a backward pass "
                  "leaves a graph of its own, which lives until the last backward pass over it, "
                  "and as long as something refers to it.",
                  tide_cause_share((double)of->backward_bytes / (double)of->bytes, share));
    cause.words = words;
    cause.cure = "call `backward()` for each task or batch instead of once for the sum of their "
                 "losses, take fewer inner steps, or leave out `create_graph=True` where gradients "
                 "of first order do";
    return tide_causes_add(to, &cause);
}

static tide_status say_training(const tide_facts *facts, const tide_growth_fact *fact,
                                const kept *of, tide_causes *to) {
    if (of->copied_bytes > of->bytes / 100 * COPIED_PERCENT) {
        return say_copies(facts, fact, of, to);
    }
    int64_t cycle_bytes = of->has_modes ? of->graph_bytes : of->gradient_bytes;
    if (cycle_bytes > of->bytes / 100 * CYCLE_PERCENT) {
        return say_cycle(facts, fact, of, to);
    }
    bool has_gradients = of->backward_bytes > of->bytes / 100 * GRADIENT_PERCENT;
    bool is_output = 2 * of->n_inside > fact->n_blocks && of->n_modules <= MOST_HOOKED;
    bool is_hook = fact->n_blocks <= MOST_OF_HOOK * of->n_modules * fact->n_keeping;
    bool has_second = !of->has_modes || of->second_bytes > 0;
    if (has_gradients && !is_hook && has_second) {
        return say_second_order(facts, fact, of, to);
    }
    if ((has_gradients || is_output) && is_hook) {
        return say_held(facts, fact, of, to);
    }
    return is_off(of) || is_plain_gradients(of) ? say_results(facts, fact, of, to)
                                                : say_kept_graph(facts, fact, of, to);
}

/* ---- a tensor that is made anew ---- */

static tide_status say_replaced(const tide_facts *facts, const tide_growth_fact *fact,
                                const kept *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char rate[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    bool is_cache = of->n_forward > 0 && !fact->has_backward;
    tide_cause cause =
        tide_cause_of_growth(facts, fact, is_cache ? "growing_cache" : "replaced_by_larger");
    if (facts->reserved.parts[TIDE_RESERVED_POOLS].n_owners > 0) {
        return TIDE_OK;
    }
    tide_text_add(&text,
                  "%s makes a tensor anew on each %s, %s larger than the last one (%zu "
                  "times so far), and needs the old and the new one at the same time",
                  tide_cause_place(facts, fact->line, place), tide_growth_round(fact),
                  tide_bytes_format(fact->rate_bytes, rate), fact->n_passes);
    if (fact->line != TIDE_NONE) {
        tide_user_line_add_quote(facts->snapshot, facts->snapshot->stacks[fact->line].frame, ": ",
                                 "", &text);
    }
    tide_text_add(&text, ".");
    cause.words = words;
    cause.cure = is_cache ? "this is a cache that grows with the length: allocate it once at its "
                            "full length, or quantize it"
                          : "append to a list of host tensors (`preds.append(x.cpu())`) and "
                            "concatenate once at the end";
    cause.cost = is_cache ? "" : "one copy to the host each time";
    return tide_causes_add(to, &cause);
}

static tide_status say(const tide_facts *facts, const tide_growth_fact *fact, tide_causes *to) {
    kept of;
    TIDE_TRY(look_at(facts, fact, &of));
    if (fact->loop->is_steps) {
        return say_steps(facts, fact, to);
    }
    if (fact->kind == TIDE_GROWTH_FILLS) {
        return tide_cause_filled(facts, fact, to);
    }
    if (fact->kind == TIDE_GROWTH_REPLACES) {
        return say_replaced(facts, fact, &of, to);
    }
    return fact->has_backward ? say_training(facts, fact, &of, to)
                              : say_forward(facts, fact, &of, to);
}

tide_status tide_cause_growth(const tide_facts *facts, tide_causes *to) {
    for (size_t i = 0; i < facts->growth.n_facts; i++) {
        size_t n = to->n_causes;
        TIDE_TRY(say(facts, &facts->growth.facts[i], to));
        if (to->n_causes > n) {
            TIDE_TRY(tide_cause_name_holder(facts, to, &to->causes[n]));
        }
    }
    return TIDE_OK;
}
