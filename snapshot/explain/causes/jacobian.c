/* A pattern of the peak: a Jacobian or Hessian whose rows are all computed in one vectorized pass.
 *
 * torch.func.jacrev, jacfwd and hessian, and torch.autograd.functional.jacobian with vectorize=True
 * begin with a basis: an identity matrix with a row for each output (jacfwd: input). With
 * chunk_size= the basis has fewer rows than columns.
 */
#include <inttypes.h>
#include <string.h>

#include "snapshot/explain/causes/blocks.h"

#define LEAST_TOGETHER 0.40 /* of the peak, made from the basis on */
#define LEAST_OTHER 0.20    /* of the peak, without its largest tensor, which may be the result */

enum {
    LEAST_ROWS = 64,      /* of the basis */
    MOST_ITEM_BYTES = 16, /* of a number */
    LEAST_ITEM_BYTES = 2,
    NEAR_FRAMES = 3 /* innermost Python frames that may make the basis */
};

static bool is_basis(const tide_facts *facts, uint32_t stack) {
    uint32_t at = stack != TIDE_NONE ? facts->stacks.python[stack] : TIDE_NONE;
    for (int i = 0; i < NEAR_FRAMES && at != TIDE_NONE; i++) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[at].frame];
        const char *file = tide_snapshot_text(facts->snapshot, row->file);
        const char *function = tide_snapshot_text(facts->snapshot, row->function);
        bool is_torch = strstr(file, "torch/_functorch/eager_transforms") != NULL ||
                        strstr(file, "torch/autograd/functional") != NULL;
        if (is_torch && strstr(function, "standard_basis_for") != NULL) {
            return true;
        }
        uint32_t parent = facts->snapshot->stacks[at].parent;
        at = parent != TIDE_NONE ? facts->stacks.python[parent] : TIDE_NONE;
    }
    return false;
}

/* Rows of a matrix of these bytes that is as high as it is wide; 0: it is none. */
static uint64_t rows_of(uint64_t bytes) {
    for (uint64_t item = LEAST_ITEM_BYTES; item <= MOST_ITEM_BYTES; item *= 2) {
        uint64_t n = bytes / item;
        uint64_t low = 0;
        uint64_t high = UINT64_C(1) << 31;
        while (low < high) { /* the largest number whose square is at most n */
            uint64_t middle = low + (high - low + 1) / 2;
            low = middle * middle <= n ? middle : low;
            high = middle * middle <= n ? high : middle - 1;
        }
        if (bytes % item == 0 && low >= LEAST_ROWS && low * low == n) {
            return low;
        }
    }
    return 0;
}

/* Whether the function that is differentiated made the block: a line of the program, or a module.
 */
static bool is_of_function(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t at = block->stack != TIDE_NONE ? facts->stacks.python[block->stack] : TIDE_NONE;
    if (at == TIDE_NONE) {
        return false;
    }
    const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[at].frame];
    return strstr(tide_snapshot_text(facts->snapshot, row->file), "torch/_functorch/") == NULL;
}

/* Whether another basis of that size follows without a call of the function in between: then both
 * are parts of one. Their sizes do not show it, because 64 x 4096 numbers are as many as 512 x 512.
 */
static bool is_part(const tide_facts *facts, const tide_lifetime *basis) {
    bool has_last = false; /* a basis, and no call of the function since */
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_like = block->device == facts->device && block->stack == basis->stack &&
                       block->requested_bytes == basis->requested_bytes;
        if (is_like && has_last) {
            return true;
        }
        has_last = is_like || (has_last && !is_of_function(facts, block));
    }
    return false;
}

/* The first whole basis of those that are allocated at the peak; NULL. What autograd made from it
 * is younger. */
static const tide_lifetime *find_basis(const tide_facts *facts) {
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (is_basis(facts, block->stack) && rows_of(block->requested_bytes) > 0) {
            return is_part(facts, block) ? NULL : block;
        }
    }
    return NULL;
}

/* What was made from the basis on, and is allocated at the peak. */
typedef struct made {
    int64_t bytes, largest_bytes;
} made;

static made since(const tide_facts *facts, const tide_lifetime *basis) {
    made found = {0, 0};
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        int64_t bytes = (int64_t)block->block_bytes;
        if (block->born >= basis->born && block->category != TIDE_WORKSPACE) {
            found.bytes += bytes;
            found.largest_bytes = bytes > found.largest_bytes ? bytes : found.largest_bytes;
        }
    }
    return found;
}

static tide_status say(const tide_facts *facts, uint32_t line, uint64_t n_rows, tide_cause *cause,
                       tide_text *text, tide_causes *to) {
    char place[TIDE_PLACE_TEXT];
    tide_text_add(text,
                  " the Jacobian at %s: all its %" PRIu64
                  " rows are computed together, each with tensors of its own.",
                  tide_cause_quoted(facts, line, "", place), n_rows);
    cause->words = text->bytes;
    cause->cure = "compute some rows at a time, `torch.func.jacrev(f, chunk_size=64)(x)`, under "
                  "`torch.no_grad()` unless you train through the result; if each output depends "
                  "on its own sample alone, `torch.func.vmap(torch.func.jacrev(f))(x)`";
    cause->cost = "a pass for each chunk";
    return tide_causes_add(to, cause);
}

static tide_status say_failure(const tide_facts *facts, uint64_t n_rows, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    const tide_failure *failure = &facts->failure;
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = {.id = "jacobian_together",
                        .tier = TIDE_TIER_ALL,
                        .share = 2,
                        .bytes = failure->asked_bytes};
    tide_text_add(&text, "The request for %s is the basis of",
                  tide_bytes_format(failure->asked_bytes, bytes));
    return say(facts, tide_stack_program(&facts->stacks, failure->stack), n_rows, &cause, &text,
               to);
}

tide_status tide_cause_jacobian(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    const tide_failure *failure = &facts->failure;
    uint64_t n_failed = failure->event >= 0 && is_basis(facts, failure->stack)
                            ? rows_of((uint64_t)failure->asked_bytes)
                            : 0;
    if (n_failed > 0) {
        return say_failure(facts, n_failed, to);
    }
    const tide_lifetime *basis = find_basis(facts);
    if (basis == NULL) {
        return TIDE_OK;
    }
    const made found = since(facts, basis);
    double peak_bytes = (double)facts->peak_bytes;
    if ((double)found.bytes < LEAST_TOGETHER * peak_bytes ||
        (double)(found.bytes - found.largest_bytes) < LEAST_OTHER * peak_bytes) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "jacobian_together", found.bytes);
    tide_cause_add_bytes(facts, found.bytes, &text);
    tide_text_add(&text, " was allocated for");
    return say(facts, tide_stack_program(&facts->stacks, basis->stack),
               rows_of(basis->requested_bytes), &cause, &text, to);
}
