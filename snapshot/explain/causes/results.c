/* Patterns of a failed request that repeats what its code already made: a conversion of all data
 * together, an expression whose steps each make a tensor of the full size, equal tensors, and data
 * that was moved to the card as a whole. */
#include <string.h>

#include "common/text/plural.h"
#include "snapshot/explain/causes/ends.h"
#include "snapshot/explain/causes/line_text.h"

#define EQUAL 0.01 /* sizes within this share count as equal */

enum {
    ASKED_PERCENT = 10,     /* of the capacity, at least, of the request .. */
    ALL_PERCENT = 50,       /* .. and of all tensors of its size together with it */
    CONVERTED_PERCENT = 20, /* of the capacity, at least, of a request that converts */
    ROOM_PERCENT = 3,       /* of the capacity, left after the request: then it is not too large */
    MOST_WIDER = 8,         /* times a tensor of bytes is as large as one of doubles */
    MOST_LINES = 4,         /* of equal tensors, that are counted */
    NAMED_LINES = 2,        /* of them, in the sentence */
    DATA_PERCENT = 50       /* of the allocated bytes, in data that was moved as a whole */
};

/* What the code of the request has made, and is still allocated. */
typedef struct made {
    size_t n_equal;       /* tensors of the size of the request, that its function made */
    int64_t narrow_bytes; /* a tensor that its line made, of which the request is a multiple */
    int64_t times;
} made;

static bool is_wider(int64_t asked, int64_t bytes, int64_t *ret_times) {
    for (int64_t times = 2; times <= MOST_WIDER; times *= 2) {
        if (bytes > 0 && asked == bytes * times) {
            *ret_times = times;
            return true;
        }
    }
    return false;
}

static made look(const tide_facts *facts, uint32_t line) {
    const tide_failure *failure = &facts->failure;
    made found = {.n_equal = 0};
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        uint32_t own = tide_stack_program(&facts->stacks, block->stack);
        int64_t times = 0;
        if (block->device != facts->device || own == TIDE_NONE ||
            !tide_lifetime_is_allocated(block, failure->event) ||
            !tide_cause_is_same_function(facts, own, line) || tide_cause_is_state(facts, block)) {
            continue;
        }
        bool is_line = facts->snapshot->stacks[own].frame == facts->snapshot->stacks[line].frame;
        tide_line_kind kind = tide_cause_line_kind(facts, own);
        found.n_equal +=
            kind != TIDE_LINE_UNKNOWN && (int64_t)block->requested_bytes == failure->asked_bytes;
        if (is_line && is_wider(failure->asked_bytes, (int64_t)block->requested_bytes, &times)) {
            found.narrow_bytes = (int64_t)block->requested_bytes;
            found.times = times;
        }
    }
    return found;
}

static tide_status say_conversion(const tide_facts *facts, uint32_t line, const made *of,
                                  tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char asked[TIDE_BYTES_TEXT];
    char narrow[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "The request for %s is %d times a tensor of %s that the same line made, %s: all "
                  "of it is converted together to a wider type.",
                  tide_bytes_format(facts->failure.asked_bytes, asked), (int)of->times,
                  tide_bytes_format(of->narrow_bytes, narrow),
                  tide_cause_quoted(facts, line, "", place));
    const tide_cause cause = {
        .id = "whole_conversion",
        .tier = TIDE_TIER_ALL,
        .share = 1,
        .bytes = facts->failure.asked_bytes,
        .words = words,
        .cure = "keep the data on the host, or in its narrow type, and convert each batch where it "
                "is used: `x.to(\"cuda\").float()` in the loop",
        .cost = "a copy to the card for each batch"};
    return tide_causes_add(to, &cause);
}

static tide_status say_steps(const tide_facts *facts, uint32_t line, const made *of,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char asked[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "%zu %s of %s, which the same code made, %s alive when %s asked for one more "
                  "of that size: each step of such a computation makes a tensor of its own.",
                  of->n_equal, tide_plural(of->n_equal, "tensor", "tensors"),
                  tide_bytes_format(facts->failure.asked_bytes, asked),
                  tide_plural(of->n_equal, "was", "were"),
                  tide_cause_quoted(facts, line, ",", place));
    const tide_cause cause = {
        .id = "full_size_steps",
        .tier = TIDE_TIER_GROWTH,
        .share = 0.7,
        .bytes = facts->failure.asked_bytes * (int64_t)of->n_equal,
        .words = words,
        .cure = "compute in chunks along one dimension and keep of each what is needed, compute in "
                "place where autograd does not need the input (`x.sub_(y)`, `x.exp_()`), and "
                "`del` what is no longer used",
        .cost = "a loop; the memory needed falls with the size of the chunk"};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_results(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    if (failure->event < 0 || failure->free_bytes < 0 || to->n_causes > 0 ||
        failure->asked_bytes < failure->capacity_bytes / 100 * ASKED_PERCENT ||
        failure->margin_bytes >= failure->capacity_bytes / 100 * ROOM_PERCENT) {
        return TIDE_OK;
    }
    uint32_t line = tide_stack_program(&facts->stacks, failure->stack);
    uint32_t traits = tide_stack_traits(&facts->stacks, failure->stack);
    tide_line_kind kind = tide_cause_line_kind(facts, line);
    bool is_other = (traits & (TIDE_IN_FORWARD | TIDE_IN_GRADIENT | TIDE_IN_OPTIMIZER |
                               TIDE_IN_CONVERSION | TIDE_IN_LOAD)) != 0;
    if (line == TIDE_NONE || is_other ||
        (kind != TIDE_LINE_COMPUTES && kind != TIDE_LINE_CONVERTS)) {
        return TIDE_OK;
    }
    const made found = look(facts, line);
    bool is_large = failure->asked_bytes >= failure->capacity_bytes / 100 * CONVERTED_PERCENT;
    int64_t all = failure->asked_bytes * ((int64_t)found.n_equal + 1);
    if (kind == TIDE_LINE_CONVERTS && found.times > 0 && is_large) {
        return say_conversion(facts, line, &found, to);
    }
    return found.n_equal > 0 && all >= failure->capacity_bytes / 100 * ALL_PERCENT
               ? say_steps(facts, line, &found, to)
               : TIDE_OK;
}

static bool is_failure(const tide_facts *facts, const tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    return failure->event >= 0 && failure->free_bytes >= 0 && to->n_causes == 0 &&
           failure->margin_bytes < failure->capacity_bytes / 100 * ROOM_PERCENT;
}

/* ---- tensors of one size ---- */

/* The tensors of the size of the request that were alive when it failed. */
typedef struct equals {
    size_t n;
    int64_t bytes;
    uint32_t lines[MOST_LINES]; /* nodes of the stack tree, of different lines */
    size_t n_lines;
    uint32_t name;   /* string; TIDE_NONE */
    bool is_graph;   /* autograd may keep them until a backward pass */
    bool is_pairing; /* the text of a line shows it */
    bool has_state;  /* one is data that the program keeps */
    bool has_layer;  /* a layer of the model made one */
} equals;

/* Weights, gradients and optimizer state of one table have one size, too. */
static bool is_equal(const tide_facts *facts, const tide_lifetime *block) {
    double asked = (double)facts->failure.asked_bytes;
    double difference = (double)block->requested_bytes - asked;
    bool is_tensor = block->category == TIDE_INPUT || !tide_cause_is_state(facts, block);
    return block->device == facts->device && block->category != TIDE_WORKSPACE && is_tensor &&
           difference <= EQUAL * asked && difference >= -EQUAL * asked &&
           tide_stack_program(&facts->stacks, block->stack) != TIDE_NONE &&
           !tide_block_is_backward(&facts->lines, block);
}

static void add_line(const tide_facts *facts, uint32_t line, equals *to) {
    for (size_t i = 0; i < to->n_lines; i++) {
        if (facts->snapshot->stacks[to->lines[i]].frame == facts->snapshot->stacks[line].frame) {
            return;
        }
    }
    if (to->n_lines < MOST_LINES) {
        to->lines[to->n_lines++] = line;
    }
}

/* Whether blocks of the place may wait for a backward pass: autograd recorded there, and nothing
 * else freed such blocks before. */
static bool may_wait(const tide_facts *facts, const tide_cause_ends *ends,
                     const tide_lifetime *block) {
    uint8_t mode = tide_cause_mode(facts, block);
    return mode != TIDE_AUTOGRAD_OFF && mode != TIDE_AUTOGRAD_INFERENCE &&
           block->category != TIDE_INPUT &&
           (tide_cause_ends_of(ends, block) & TIDE_END_ELSEWHERE) == 0;
}

static bool is_any(const tide_facts *facts, const tide_lifetime *block) {
    (void)facts;
    return block->category != TIDE_WORKSPACE;
}

static tide_status find_equals(const tide_facts *facts, equals *ret) {
    tide_cause_ends ends;
    tide_status status = tide_cause_ends_init(&ends, facts, is_any);
    *ret = (equals){.name = TIDE_NONE};
    for (size_t i = 0; status == TIDE_OK && i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (is_equal(facts, block) && tide_lifetime_is_allocated(block, facts->failure.event)) {
            uint32_t line = tide_stack_program(&facts->stacks, block->stack);
            ret->n++;
            ret->bytes += (int64_t)block->block_bytes;
            ret->name = block->name != TIDE_NONE ? block->name : ret->name;
            ret->is_graph = ret->is_graph || may_wait(facts, &ends, block);
            ret->has_layer = ret->has_layer || tide_cause_is_of_layer(facts, block->stack);
            ret->has_state = ret->has_state || block->category == TIDE_INPUT;
            ret->is_pairing = ret->is_pairing || tide_cause_line_expands(facts, line);
            add_line(facts, line, ret);
        }
    }
    tide_cause_ends_fini(&ends);
    return status;
}

static const char *cure_of(const equals *of) {
    if (of->is_pairing) {
        return of->is_graph
                   ? "compute parts of the rows in a loop, and reduce each part (a maximum, a sum) "
                     "before the next; where the inputs need gradients, call `backward()` on each "
                     "part, because autograd keeps the parts until then"
                   : "compute parts of the rows in a loop, and reduce each part (a maximum, a "
                     "sum) before the next";
    }
    if (of->has_state) {
        return "operators in place (`x.div_(n)`, `out=`), `del` of what is no longer used, or a "
               "smaller form of what the program keeps in this size";
    }
    return of->is_graph
               ? "operators in place (`x.div_(n)`, `out=`) where autograd does not need the input, "
                 "`del` of what is no longer used, or a smaller batch"
               : "a smaller batch for this call, operators in place (`x.div_(n)`, `out=`), and "
                 "`del` of what is no longer used";
}

/* "3 tensors of 5.40 GiB hold 16.21 GiB", "One tensor (masks [3, 4]) holds 17.17 GiB" */
static void add_held(const tide_facts *facts, const equals *of, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    const char *name = tide_snapshot_text(facts->snapshot, of->name);
    bool has_shape = strchr(name, '[') != NULL;
    if (of->n == 1) {
        tide_text_add(to, "One tensor");
    } else {
        tide_text_add(to, "%zu tensors of %s", of->n,
                      tide_bytes_format(facts->failure.asked_bytes, bytes));
    }
    tide_text_add(to, "%s%s%s %s %s", has_shape ? " (" : "", has_shape ? name : "",
                  has_shape ? ")" : "", tide_plural(of->n, "holds", "hold"),
                  tide_bytes_format(of->bytes, bytes));
}

/* " They were made at f (a.py:8), `x = a + b`, and on the same line." */
static void add_lines(const tide_facts *facts, const equals *of, uint32_t asked, tide_text *to) {
    char place[TIDE_PLACE_TEXT];
    const tide_stack_row *stacks = facts->snapshot->stacks;
    size_t n = of->n_lines < NAMED_LINES ? of->n_lines : NAMED_LINES;
    tide_text_add(to, " %s made ", tide_plural(of->n, "It was", "They were"));
    for (size_t i = 0; i < n; i++) {
        bool is_asked = stacks[of->lines[i]].frame == stacks[asked].frame;
        tide_text_add(
            to, "%s%s%s", i > 0 ? " and " : "", is_asked ? "on that line" : "at ",
            is_asked ? "" : tide_cause_quoted(facts, of->lines[i], i + 1 < n ? "," : "", place));
    }
    tide_text_add(to, "%s.%s", of->n_lines > n ? ", and on other lines" : "",
                  of->is_pairing ? " They have a value for each pair of rows." : "");
}

static tide_status say_equals(const tide_facts *facts, const equals *of, uint32_t line,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char all[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    add_held(facts, of, &text);
    tide_text_add(&text, " of the %s allocated, and another one of that size was asked for at %s.",
                  tide_bytes_format(facts->failure.allocated_bytes, all),
                  tide_cause_quoted(facts, line, "", place));
    add_lines(facts, of, line, &text);
    tide_cause cause = tide_cause_of_peak(facts, "equal_tensors", of->bytes);
    cause.words = words;
    cause.cure = cure_of(of);
    cause.cost = of->is_pairing ? "a loop" : "";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_equals(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    uint32_t traits = tide_stack_traits(&facts->stacks, failure->stack);
    uint32_t line = tide_stack_program(&facts->stacks, failure->stack);
    equals found;
    if (!is_failure(facts, to) || line == TIDE_NONE ||
        failure->asked_bytes < failure->capacity_bytes / 100 * ASKED_PERCENT ||
        (traits & (TIDE_IN_GRADIENT | TIDE_IN_OPTIMIZER | TIDE_IN_CONVERSION | TIDE_IN_LOAD |
                   TIDE_IN_MODULE_INIT | TIDE_IN_DEEPCOPY)) != 0) {
        return TIDE_OK;
    }
    TIDE_TRY(find_equals(facts, &found));
    int64_t all = found.bytes + failure->asked_bytes;
    if (found.is_graph && (found.has_layer || tide_cause_is_of_layer(facts, failure->stack))) {
        return TIDE_OK; /* activations of layers, as any batch has */
    }
    return found.n > 0 && all >= failure->capacity_bytes / 100 * ALL_PERCENT
               ? say_equals(facts, &found, line, to)
               : TIDE_OK;
}

/* ---- data moved to the card as a whole ---- */

static bool is_moved(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t line = tide_stack_program(&facts->stacks, block->stack);
    return block->device == facts->device && block->category == TIDE_INPUT &&
           tide_lifetime_is_allocated(block, facts->failure.event) && line != TIDE_NONE &&
           tide_cause_line_kind(facts, line) == TIDE_LINE_CONVERTS;
}

tide_status tide_cause_data(const tide_facts *facts, tide_causes *to) {
    const tide_lifetime *largest = NULL;
    int64_t bytes = 0;
    if (!is_failure(facts, to)) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (is_moved(facts, block)) {
            bytes += (int64_t)block->block_bytes;
            largest =
                largest == NULL || block->block_bytes > largest->block_bytes ? block : largest;
        }
    }
    if (largest == NULL || bytes < facts->failure.allocated_bytes / 100 * DATA_PERCENT) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char held[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    char most[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = tide_stack_program(&facts->stacks, largest->stack);
    tide_text_add(&text,
                  "%s of the %s allocated are data that the program moved to the card as a whole, "
                  "%s of it at %s.",
                  tide_bytes_format(bytes, held),
                  tide_bytes_format(facts->failure.allocated_bytes, all),
                  tide_bytes_format((int64_t)largest->block_bytes, most),
                  tide_cause_quoted(facts, line, "", place));
    tide_cause cause = tide_cause_of_peak(facts, "data_on_card", bytes);
    cause.words = words;
    cause.cure = "keep the data on the host, shuffle it there, and move each batch where it is "
                 "used: `batch = data[rows].to(\"cuda\")`";
    cause.cost = "a copy to the card for each batch";
    return tide_causes_add(to, &cause);
}
