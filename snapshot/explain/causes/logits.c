/* Patterns of the peak: one large tensor several times, and one line that makes far larger tensors
 * than the rest of the program.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

#define LEAST_LARGE 0.10   /* of the peak: of a tensor that is looked at; there are at most ten */
#define LEAST_LOGITS 0.30  /* of the peak: of all copies */
#define EQUAL 0.01         /* sizes within this share count as equal */
#define NEAR 0.05          /* sizes within this share are of one family, as [T, U] and [T, U - 1] */
#define LEAST_ASKED 0.50   /* of the capacity: of the failed request and the family */
#define LEAST_WIDE 0.20    /* of the peak: of a tensor in double width */
#define LEAST_NARROW 0.05  /* of the peak: of the tensor that it was converted from */
#define LEAST_BLOW_UP 0.50 /* of the peak: of one line's large tensors */

enum {
    MOST_LARGE = 10,
    LARGER = 8,           /* one line's tensors, than any other of the program */
    LEAST_LIFETIMES = 40, /* a program with fewer is a few operators, not a model */
    HEAD_FRAMES = 4       /* innermost frames that may be a loss */
};

/* The large tensors alive at the peak, the largest first. */
typedef struct large_tensors {
    const tide_lifetime *blocks[MOST_LARGE];
    size_t n;
} large_tensors;

static bool is_tensor(const tide_facts *facts, const tide_lifetime *block) {
    return block->category != TIDE_WORKSPACE && block->born > 0 &&
           !tide_cause_is_state(facts, block);
}

static int by_size(const void *left, const void *right) {
    const tide_lifetime *a = *(const tide_lifetime *const *)left;
    const tide_lifetime *b = *(const tide_lifetime *const *)right;
    if (a->block_bytes != b->block_bytes) {
        return a->block_bytes < b->block_bytes ? 1 : -1;
    }
    return a->born < b->born ? -1 : a->born > b->born;
}

static large_tensors find_large(const tide_facts *facts) {
    large_tensors found = {.n = 0};
    for (size_t i = 0; i < facts->n_peak && found.n < MOST_LARGE; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        bool is_large = (double)block->block_bytes >= LEAST_LARGE * (double)facts->peak_bytes;
        if (is_large && is_tensor(facts, block)) {
            found.blocks[found.n++] = block;
        }
    }
    qsort(found.blocks, found.n, sizeof(found.blocks[0]), by_size);
    return found;
}

static bool is_as_large(uint64_t bytes, uint64_t as) {
    double difference = (double)bytes > (double)as ? (double)(bytes - as) : (double)(as - bytes);
    return difference <= EQUAL * (double)as;
}

/* ---- copies of the logits ---- */

static bool is_of_loss(const tide_facts *facts, const tide_lifetime *block) {
    static const char *const NODES[] = {"LogSoftmax", "NllLoss", "CrossEntropy", "LogSumExp",
                                        "Logsumexp"};
    static const char *const FUNCTIONS[] = {"cross_entropy", "log_softmax", "nll_loss"};
    for (size_t i = 0; i < sizeof(NODES) / sizeof(NODES[0]); i++) {
        if (tide_cause_is_node(facts, block, NODES[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); i++) {
        if (tide_cause_is_called(facts, block->stack, FUNCTIONS[i], HEAD_FRAMES)) {
            return true;
        }
    }
    return false;
}

/* The tensors from `first` on that are as large as it. */
static size_t count_equal(const large_tensors *of, size_t first) {
    size_t n = 1;
    while (first + n < of->n &&
           is_as_large(of->blocks[first + n]->block_bytes, of->blocks[first]->block_bytes)) {
        n++;
    }
    return n;
}

static bool is_same_place(const tide_facts *facts, const tide_lifetime *a, const tide_lifetime *b) {
    return a->stack == b->stack &&
           tide_module_of(&facts->scopes, a->scope) == tide_module_of(&facts->scopes, b->scope) &&
           tide_node_of(&facts->scopes, a->scope) == tide_node_of(&facts->scopes, b->scope);
}

/* A pickle has no categories: a weight of the same size, or its gradient, could be among the
 * tensors. */
static bool has_weight_as_large(const tide_facts *facts, uint64_t bytes) {
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (is_as_large(block->block_bytes, bytes) &&
            (block->born == 0 || tide_cause_is_state(facts, block))) {
            return true;
        }
    }
    return false;
}

static bool are_logits(const tide_facts *facts, const tide_lifetime *const *blocks, size_t n) {
    int64_t bytes = 0;
    bool has_loss = false;
    bool has_places = false;
    for (size_t i = 0; i < n; i++) {
        bytes += (int64_t)blocks[i]->block_bytes;
        has_loss = has_loss || is_of_loss(facts, blocks[i]);
        has_places = has_places || !is_same_place(facts, blocks[i], blocks[0]);
    }
    return has_loss && has_places && (double)bytes >= LEAST_LOGITS * (double)facts->peak_bytes &&
           !(facts->is_pickle && has_weight_as_large(facts, blocks[0]->block_bytes));
}

/* "LM.forward (c15.py:15) and its backward pass" */
static void add_places(const tide_facts *facts, const tide_lifetime *const *blocks, size_t n,
                       tide_text *to) {
    uint32_t frames[MOST_LARGE];
    char place[TIDE_PLACE_TEXT];
    size_t n_frames = 0;
    bool has_backward = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t node = tide_block_line(&facts->lines, blocks[i]);
        uint32_t frame = node != TIDE_NONE ? facts->snapshot->stacks[node].frame : TIDE_NONE;
        bool is_known = node == TIDE_NONE;
        for (size_t j = 0; j < n_frames; j++) {
            is_known = is_known || frames[j] == frame;
        }
        has_backward = has_backward || tide_block_is_backward(&facts->lines, blocks[i]);
        if (!is_known) {
            tide_text_add(to, "%s%s", n_frames > 0 ? ", " : " They were made at ",
                          tide_cause_quoted(facts, node, "", place));
            frames[n_frames++] = frame;
        }
    }
    if (n_frames > 0) {
        tide_text_add(to, "%s.", has_backward ? " and in its backward pass" : "");
    }
}

/* Adds what DataParallel does, if it gathered any of the blocks, and sets cure and cost. */
static void set_cure(const tide_facts *facts, const tide_lifetime *const *blocks, size_t n,
                     tide_text *to, tide_cause *cause) {
    bool has_four = false;
    bool has_gather = false;
    for (size_t i = 0; i < n; i++) {
        has_four = has_four || tide_cause_dimensions(facts, blocks[i]) == 4;
        has_gather = has_gather || tide_cause_is_gathered(facts, blocks[i]);
    }
    if (has_gather) {
        tide_text_add(to, " DataParallel gathers the outputs of all cards on this one.");
        cause->cure = "compute the loss in `forward` of the wrapped module, so only numbers are "
                      "gathered, or use DistributedDataParallel";
        return;
    }
    cause->cure = has_four
                      ? "compute the loss on parts of the batch, with `backward()` on each; for a "
                        "transducer, a loss that makes no log-softmax of its own "
                        "(`torchaudio.functional.rnnt_loss` on the logits, or a pruned loss)"
                      : "compute the loss in chunks of tokens: a fused linear cross-entropy such "
                        "as Liger's, or `checkpoint` around head and loss of 1,024 tokens at a "
                        "time";
    cause->cost = has_four ? "" : "head and loss are computed twice";
    cause->changes = has_four ? NULL : "linear_loss,chunked_loss";
}

static int64_t bytes_of(const tide_lifetime *const *blocks, size_t n) {
    int64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += (int64_t)blocks[i]->block_bytes;
    }
    return bytes;
}

static tide_status say_logits(const tide_facts *facts, const tide_lifetime *const *blocks, size_t n,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char each[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    int64_t bytes = bytes_of(blocks, n);
    tide_cause cause = tide_cause_of_peak(facts, "logits", bytes);
    tide_text_add(&text, "%zu tensors of %s make up ", n,
                  tide_bytes_format((int64_t)blocks[0]->block_bytes, each));
    tide_cause_add_bytes(facts, bytes, &text);
    tide_text_add(&text, ", of the size of the logits: the loss and its backward pass make them.");
    add_places(facts, blocks, n, &text);
    set_cure(facts, blocks, n, &text, &cause);
    cause.words = words;
    cause.share += 0.2; /* it names the tensors that a pattern of one line counts, and more */
    return tide_causes_add(to, &cause);
}

/* ---- a failed request of the size of the logits ---- */

/* It comes before fragmentation, which such requests meet in any layout a little later. */
static tide_status say_asked(const tide_facts *facts, const large_tensors *of, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    char words[TIDE_CAUSE_TEXT];
    char asked[TIDE_BYTES_TEXT];
    char held[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    int64_t bytes = bytes_of(of->blocks, of->n);
    tide_cause cause = tide_cause_of_peak(facts, "logits", bytes);
    tide_text_add(&text,
                  "The request for %s has the size of the logits, and %zu tensors of about this "
                  "size hold %s of the %s allocated: the loss and its backward pass make them.",
                  tide_bytes_format(failure->asked_bytes, asked), of->n,
                  tide_bytes_format(bytes, held), tide_bytes_format(failure->allocated_bytes, all));
    add_places(facts, of->blocks, of->n, &text);
    set_cure(facts, of->blocks, of->n, &text, &cause);
    cause.words = words;
    cause.tier = TIDE_TIER_GROWTH;
    cause.share = 0.9;
    return tide_causes_add(to, &cause);
}

static tide_status find_asked(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    large_tensors of = {.n = 0};
    bool is_pass = failure->event >= 0 &&
                   ((tide_stack_traits(&facts->stacks, failure->stack) & TIDE_IN_FORWARD) != 0 ||
                    tide_phase_of(&facts->scopes, failure->scope) == TIDE_PHASE_BACKWARD);
    if (!is_pass || facts->is_pickle ||
        (double)failure->asked_bytes < LEAST_LARGE * (double)failure->capacity_bytes) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && of.n < MOST_LARGE; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        double off = (double)block->requested_bytes / (double)failure->asked_bytes - 1;
        if (block->device == facts->device && off <= NEAR && off >= -NEAR &&
            tide_lifetime_is_allocated(block, failure->event) && is_tensor(facts, block)) {
            of.blocks[of.n++] = block;
        }
    }
    double all = (double)(bytes_of(of.blocks, of.n) + failure->asked_bytes);
    return of.n > 1 && are_logits(facts, of.blocks, of.n) &&
                   all >= LEAST_ASKED * (double)failure->capacity_bytes
               ? say_asked(facts, &of, to)
               : TIDE_OK;
}

/* ---- a tensor converted to double width ---- */

/* Whether the tensor is the result of a head, whose result nothing but a conversion doubles. */
static bool is_of_head(const tide_facts *facts, const tide_lifetime *narrow) {
    uint32_t module = tide_module_of(&facts->scopes, narrow->scope);
    return module != TIDE_NONE &&
           strstr(tide_snapshot_text(facts->snapshot, module), "head") != NULL;
}

/* Made by an operator that the program's own line calls, in a forward pass. */
static bool is_own_operator(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t node = tide_stack_program(&facts->stacks, block->stack);
    return node != TIDE_NONE && facts->stacks.python[block->stack] == node &&
           tide_block_is_forward(&facts->lines, block);
}

/* The only older tensor of half the width, made in the same function; NULL if there is none or
 * more than one: two halves that are joined are twice as large, too. */
static const tide_lifetime *find_narrow(const tide_facts *facts, const tide_lifetime *wide) {
    const tide_lifetime *found = NULL;
    uint32_t line = tide_stack_program(&facts->stacks, wide->stack);
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (2 * block->requested_bytes != wide->requested_bytes || !is_tensor(facts, block)) {
            continue;
        }
        uint32_t own = tide_block_line(&facts->lines, block);
        if (found != NULL || block->born > wide->born ||
            !tide_cause_is_same_function(facts, own, line)) {
            return NULL;
        }
        found = block;
    }
    bool is_large =
        found != NULL && (double)found->block_bytes >= LEAST_NARROW * (double)facts->peak_bytes;
    return is_large ? found : NULL;
}

static tide_status say_wide(const tide_facts *facts, const tide_lifetime *wide,
                            const tide_lifetime *narrow, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "double_width_copy",
                                          (int64_t)(wide->block_bytes + narrow->block_bytes));
    tide_cause_add_bytes(facts, (int64_t)wide->block_bytes, &text);
    tide_text_add(
        &text, " is a copy in double width, made at %s from a tensor of %s",
        tide_cause_quoted(facts, tide_stack_program(&facts->stacks, wide->stack), ",", place),
        tide_bytes_format((int64_t)narrow->block_bytes, bytes));
    tide_text_add(&text, " (%s), and both are alive.",
                  tide_cause_place(facts, tide_block_line(&facts->lines, narrow), place));
    cause.words = words;
    cause.share += 0.1;
    cause.cure = "leave out the conversion, or convert only the part that is used "
                 "(`logits[:, -1].float()`)";
    cause.cost = "";
    return tide_causes_add(to, &cause);
}

static tide_status find_wide(const tide_facts *facts, const large_tensors *of, tide_causes *to) {
    for (size_t i = 0; i < of->n; i++) {
        const tide_lifetime *wide = of->blocks[i];
        if ((double)wide->block_bytes < LEAST_WIDE * (double)facts->peak_bytes ||
            !is_own_operator(facts, wide)) {
            continue;
        }
        const tide_lifetime *narrow = find_narrow(facts, wide);
        if (narrow != NULL && is_of_head(facts, narrow)) {
            return say_wide(facts, wide, narrow, to);
        }
    }
    return TIDE_OK;
}

tide_status tide_cause_logits(const tide_facts *facts, tide_causes *to) {
    large_tensors of = find_large(facts);
    size_t n_before = to->n_causes;
    TIDE_TRY(find_asked(facts, to));
    for (size_t i = 0; i < of.n && to->n_causes == n_before;) {
        size_t n = count_equal(&of, i);
        if (n > 1 && are_logits(facts, &of.blocks[i], n)) {
            return say_logits(facts, &of.blocks[i], n, to);
        }
        i += n;
    }
    return find_wide(facts, &of, to);
}

/* ---- one line that makes far larger tensors than the rest ---- */

/* The program's line of a tensor that its own operator makes in a module's code, or where the text
 * of the line shows that it expands its inputs, not a layer that it calls; TIDE_NONE. */
static uint32_t line_of_large(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t line = tide_stack_program(&facts->stacks, block->stack);
    bool is_below = (tide_stack_traits(&facts->stacks, line) & TIDE_IN_FORWARD) != 0 ||
                    (block->category != TIDE_INPUT && tide_cause_line_expands(facts, line));
    bool is_counted = (tide_facts_traits(facts, block) & TIDE_IN_ATTENTION) != 0;
    return is_below && !is_counted && !tide_cause_is_of_layer(facts, block->stack) ? line
                                                                                   : TIDE_NONE;
}

static bool is_frame(const tide_facts *facts, uint32_t node, uint32_t frame) {
    return node != TIDE_NONE && facts->snapshot->stacks[node].frame == frame;
}

/* Whether the block is of the line's own operators, or of their backward pass. */
static bool is_own_of(const tide_facts *facts, const tide_lifetime *block, uint32_t frame) {
    return tide_block_is_backward(&facts->lines, block)
               ? is_frame(facts, tide_block_line(&facts->lines, block), frame)
               : is_frame(facts, line_of_large(facts, block), frame);
}

/* The large tensors of one line. */
typedef struct blow_up {
    uint32_t node; /* the line */
    size_t n;
    int64_t bytes;
    uint64_t smallest, other; /* bytes: of them, and the largest of other lines */
    bool has_scores;          /* of PyTorch's own attention in its math implementation */
} blow_up;

/* The largest block until the peak that others made. What is as large as a tensor of a line that
 * expands its inputs was computed from it. */
static uint64_t largest_other(const tide_facts *facts, const blow_up *of) {
    uint64_t largest = 0;
    uint32_t frame = facts->snapshot->stacks[of->node].frame;
    bool is_expanding = tide_cause_line_expands(facts, of->node);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_looked_at = block->device == facts->device &&
                            (int64_t)block->born <= facts->peak_event + 1 &&
                            block->block_bytes > largest &&
                            !(is_expanding && is_as_large(block->block_bytes, of->smallest));
        if (is_looked_at && block->category != TIDE_WORKSPACE && !is_own_of(facts, block, frame)) {
            largest = block->block_bytes;
        }
    }
    return largest;
}

static bool is_replaced(const tide_facts *facts, uint32_t frame) {
    for (size_t i = 0; i < facts->growth.n_facts; i++) {
        const tide_growth_fact *fact = &facts->growth.facts[i];
        if (fact->kind == TIDE_GROWTH_REPLACES && is_frame(facts, fact->line, frame)) {
            return true;
        }
    }
    return false;
}

static const char *cure_of(const tide_facts *facts, const blow_up *of) {
    uint32_t node = of->node;
    if (of->has_scores) {
        return "give attention inputs that a fused kernel takes (bfloat16 needs compute capability "
               "8.0): PyTorch used its math implementation, which makes the scores in full";
    }
    bool is_gather = tide_cause_line_has(facts, node, "[edge") ||
                     tide_cause_line_has(facts, node, "[src") ||
                     tide_cause_line_has(facts, node, "index_select(");
    bool is_repeat = tide_cause_line_has(facts, node, ".repeat(");
    return is_repeat ? "`.expand` instead of `.repeat`: its result is a view that needs no memory, "
                       "if it is the last operator on the line, after conversions and products"
           : is_gather ? "gather and sum in one step, as a product with a sparse matrix "
                         "(`torch.sparse.mm(adjacency, x)`), or in chunks of the indices"
           : tide_cause_line_subtracts_pairs(facts, node)
               ? "for distances, `torch.cdist(x, y)` makes no tensor of differences; otherwise "
                 "compute in chunks over one dimension"
               : "look at the shapes in this line: it broadcasts or pairs its inputs, or expands a "
                 "mask; do it in chunks over one dimension, or keep the dimension of size 1";
}

static tide_status say_blow_up(const tide_facts *facts, const blow_up *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "blow_up", of->bytes);
    if (of->n == 1) {
        tide_text_add(&text, "One tensor");
    } else {
        tide_text_add(&text, "%zu tensors", of->n);
    }
    tide_text_add(&text, " of %s make%s up ", tide_cause_quoted(facts, of->node, ",", place),
                  of->n == 1 ? "s" : "");
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text,
                  ", %s at least %" PRIu64 " times as large as any other tensor of the program.",
                  of->n == 1 ? "and it is" : "and each is", of->smallest / of->other);
    cause.words = words;
    cause.cure = cure_of(facts, of);
    bool is_free = of->has_scores || tide_cause_line_has(facts, of->node, ".repeat(");
    cause.cost = is_free ? "" : "a loop over the chunks";
    return tide_causes_add(to, &cause);
}

/* The large tensors of a line: those of its operators, and of their backward pass. If the line
 * expands its inputs, others of that size were computed from its tensors. */
static blow_up gather(const tide_facts *facts, const large_tensors *from, uint32_t node) {
    blow_up found = {.node = node, .smallest = UINT64_MAX};
    uint32_t frame = facts->snapshot->stacks[node].frame;
    for (size_t i = 0; i < from->n; i++) {
        uint64_t bytes = from->blocks[i]->block_bytes;
        if (is_own_of(facts, from->blocks[i], frame)) {
            found.n++;
            found.bytes += (int64_t)bytes;
            found.smallest = bytes < found.smallest ? bytes : found.smallest;
            found.has_scores |= tide_cause_is_made_by(facts, from->blocks[i], "safe_softmax");
        }
    }
    for (size_t i = 0; i < from->n && tide_cause_line_expands(facts, node); i++) {
        uint64_t bytes = from->blocks[i]->block_bytes;
        if (!is_own_of(facts, from->blocks[i], frame) && is_as_large(bytes, found.smallest)) {
            found.n++;
            found.bytes += (int64_t)bytes;
        }
    }
    return found;
}

tide_status tide_cause_blow_up(const tide_facts *facts, tide_causes *to) {
    large_tensors of = find_large(facts);
    if (facts->lifetimes->n_lifetimes < LEAST_LIFETIMES || tide_causes_find(to, "logits") != NULL ||
        tide_causes_find(to, "attention_by_hand") != NULL) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < of.n; i++) {
        uint32_t node = tide_block_is_backward(&facts->lines, of.blocks[i])
                            ? TIDE_NONE
                            : line_of_large(facts, of.blocks[i]);
        if (node == TIDE_NONE) {
            continue;
        }
        uint32_t frame = facts->snapshot->stacks[node].frame;
        blow_up found = gather(facts, &of, node);
        if ((double)found.bytes < LEAST_BLOW_UP * (double)facts->peak_bytes ||
            is_replaced(facts, frame)) {
            continue;
        }
        found.other = largest_other(facts, &found);
        if (found.other > 0 && found.smallest >= LARGER * found.other) {
            return say_blow_up(facts, &found, to);
        }
    }
    return TIDE_OK;
}
