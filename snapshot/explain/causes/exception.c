/* A pattern of a failed request: the program went on inside `except`, where the exception still
 * holds the frames of the failed call. */
#include "snapshot/explain/causes/causes_friend.h"

enum {
    MOST_FRAMES = 256, /* of the program, in a call stack */
    HELD_PERCENT = 10, /* of the peak, at least, made below the failed call and still alive */
    STILL_AFTER = 20   /* rows after the program went on, in which the bytes stay */
};

/* The lines of the program in a stack, outermost first. */
typedef struct chain {
    uint32_t frames[MOST_FRAMES];
    uint32_t nodes[MOST_FRAMES];
    size_t n;
} chain;

/* Stacks that are too deep have no lines. */
static void chain_of(const tide_facts *facts, uint32_t node, chain *ret) {
    ret->n = 0;
    for (uint32_t at = node; at != TIDE_NONE; at = tide_stack_program_caller(&facts->stacks, at)) {
        ret->n++;
    }
    if (ret->n > MOST_FRAMES) {
        ret->n = 0;
        return;
    }
    size_t i = ret->n;
    for (uint32_t at = node; at != TIDE_NONE; at = tide_stack_program_caller(&facts->stacks, at)) {
        ret->nodes[--i] = at;
        ret->frames[i] = facts->snapshot->stacks[at].frame;
    }
}

static size_t common_frames(const chain *a, const chain *b) {
    size_t n = 0;
    while (n < a->n && n < b->n && a->frames[n] == b->frames[n]) {
        n++;
    }
    return n;
}

static bool asks(const tide_facts *facts, int64_t row) {
    uint8_t action = facts->snapshot->events.action[row];
    return facts->snapshot->events.device[row] == facts->device &&
           (action == TIDE_ACTION_ALLOC || action == TIDE_ACTION_OOM);
}

static uint32_t line_of_row(const tide_facts *facts, int64_t row) {
    return tide_stack_program(&facts->stacks,
                              tide_index_at(&facts->snapshot->events.stack, (size_t)row));
}

/* The line of the failed request; of one in autograd's threads, the line before it. */
static uint32_t failed_line(const tide_facts *facts) {
    for (int64_t row = facts->failure.event; row >= 0; row--) {
        uint32_t line = asks(facts, row) ? line_of_row(facts, row) : TIDE_NONE;
        if (line != TIDE_NONE) {
            return line;
        }
    }
    return TIDE_NONE;
}

/* Whether two frames are lines of one function, the second further down. */
static bool is_further_down(const tide_facts *facts, uint32_t from, uint32_t to) {
    const tide_frame_row *a = &facts->snapshot->frames[from];
    const tide_frame_row *b = &facts->snapshot->frames[to];
    return a->function == b->function && a->file == b->file && b->line > a->line;
}

/* Bytes made below the first n_frames lines of the failed call, alive from the failure until some
 * rows after the program went on. */
static int64_t held_bytes(const tide_facts *facts, const chain *failed, size_t n_frames,
                          int64_t later) {
    int64_t bytes = 0;
    chain of = {.n = 0};
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_state = block->category == TIDE_PARAMETER || block->category == TIDE_GRADIENT ||
                        block->category == TIDE_OPTIMIZER_STATE ||
                        (tide_facts_traits(facts, block) & TIDE_IN_MODULE_INIT) != 0;
        if (block->device != facts->device || is_state ||
            !tide_lifetime_is_allocated(block, facts->failure.event) ||
            !tide_lifetime_is_allocated(block, later + STILL_AFTER)) {
            continue;
        }
        chain_of(facts, tide_block_line(&facts->lines, block), &of);
        bytes += common_frames(&of, failed) >= n_frames ? (int64_t)block->block_bytes : 0;
    }
    return bytes;
}

/* The line at which the program went on in the same function, further down than the failed line,
 * before anything else in that function. *ret_depth: of that function in both chains.
 * TIDE_NONE: it did not, for example because it began its loop anew. */
static int64_t went_on(const tide_facts *facts, const chain *failed, size_t *ret_depth) {
    chain of = {.n = 0};
    for (int64_t row = facts->failure.event + 1; row < (int64_t)facts->snapshot->n_events; row++) {
        uint32_t line = asks(facts, row) ? line_of_row(facts, row) : TIDE_NONE;
        if (line == TIDE_NONE) {
            continue;
        }
        chain_of(facts, line, &of);
        size_t n = common_frames(&of, failed);
        bool is_below =
            n < failed->n && n < of.n && is_further_down(facts, failed->frames[n], of.frames[n]);
        *ret_depth = n;
        return is_below ? row : -1;
    }
    return -1;
}

tide_status tide_cause_exception(const tide_facts *facts, tide_causes *to) {
    chain failed = {.n = 0};
    size_t depth = 0;
    chain_of(facts, facts->failure.event >= 0 ? failed_line(facts) : TIDE_NONE, &failed);
    int64_t row = failed.n > 0 ? went_on(facts, &failed, &depth) : -1;
    if (row < 0) {
        return TIDE_OK;
    }
    int64_t held = held_bytes(facts, &failed, depth + 1, row);
    if (held < facts->peak_bytes / 100 * HELD_PERCENT) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char from[TIDE_PLACE_TEXT];
    char next[TIDE_PLACE_TEXT];
    chain of = {.n = 0};
    tide_text text = tide_text_in(words, sizeof(words));
    chain_of(facts, line_of_row(facts, row), &of);
    tide_text_add(&text,
                  "%s of the call that failed, %s, were still allocated when the program continued "
                  "at %s. Inside `except`, the exception holds the frames of the failed call and "
                  "every tensor in them.",
                  tide_bytes_format(held, bytes),
                  tide_cause_quoted(facts, failed.nodes[depth], "", from),
                  tide_cause_quoted(facts, of.nodes[depth], "", next));
    const tide_cause cause = {
        .id = "exception_holds",
        .tier = TIDE_TIER_ALL,
        .share = 0.9,
        .bytes = held,
        .words = words,
        .cure = "leave the `except` block before the retry: set a flag in it, and after it call "
                "`torch.cuda.empty_cache()` and try again"};
    return tide_causes_add(to, &cause);
}
