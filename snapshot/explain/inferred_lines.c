#include "snapshot/explain/inferred_lines.h"

/* Code whose blocks are no activations. */
#define NO_ACTIVATION                                                                              \
    ((uint32_t)(TIDE_IN_OPTIMIZER | TIDE_IN_MODULE_INIT | TIDE_IN_CONVERSION | TIDE_IN_LOAD))

typedef struct walk {
    const tide_block_lines *lines; /* borrowed, as is the next */
    const tide_lifetimes *lifetimes;
    size_t device;
    uint32_t *freed; /* owned; of each row, the lifetime whose free it requests; TIDE_NONE */
    uint32_t last;   /* node: the line of the activation freed last; TIDE_NONE */
} walk;

/* In a recording of PyTorch's, the backward pass has no frames of Python. */
static bool is_backward(const walk *of, const tide_lifetime *block) {
    uint32_t traits = tide_stack_traits(of->lines->stacks, block->stack);
    return (traits & TIDE_HAS_PYTHON) == 0 || tide_block_is_backward(of->lines, block);
}

/* The line of an activation; TIDE_NONE for other blocks. */
static uint32_t line_of(const walk *of, const tide_lifetime *block) {
    uint32_t traits = tide_stack_traits(of->lines->stacks, block->stack);
    bool is_other = block->device != of->device || (traits & NO_ACTIVATION) != 0;
    return is_other || is_backward(of, block) ? TIDE_NONE
                                              : tide_stack_program(of->lines->stacks, block->stack);
}

/* A block of the program's own code ends the backward pass. */
static void pass(walk *of, const tide_lifetime *block) {
    if (block->device == of->device && !is_backward(of, block)) {
        of->last = TIDE_NONE;
    }
}

static void note_free(walk *of, size_t row) {
    const tide_lifetime *lifetimes = of->lifetimes->lifetimes;
    uint32_t line =
        of->freed[row] != TIDE_NONE ? line_of(of, &lifetimes[of->freed[row]]) : TIDE_NONE;
    of->last = line != TIDE_NONE ? line : of->last;
}

static bool is_same_line(const walk *of, uint32_t a, uint32_t b) {
    const tide_stack_row *stacks = of->lines->stacks->snapshot->stacks;
    return a != TIDE_NONE && b != TIDE_NONE && stacks[a].frame == stacks[b].frame;
}

/* From the first row to the last: the activation freed before each block. */
static void look_before(walk *of, tide_inferred_lines *to) {
    size_t next = 0;
    of->last = TIDE_NONE;
    for (size_t row = 0; row < to->n_rows; row++) {
        to->of_row[row] = TIDE_NONE;
        note_free(of, row);
        for (; next < of->lifetimes->n_lifetimes && of->lifetimes->lifetimes[next].born <= row + 1;
             next++) {
            const tide_lifetime *block = &of->lifetimes->lifetimes[next];
            pass(of, block);
            if (block->born == row + 1 && is_backward(of, block)) {
                to->of_row[row] = of->last;
            }
        }
    }
}

/* From the last row to the first: keeps the line if the activation freed after the block has it. */
static void look_after(walk *of, tide_inferred_lines *to) {
    size_t next = of->lifetimes->n_lifetimes;
    of->last = TIDE_NONE;
    for (size_t row = to->n_rows; row-- > 0;) {
        note_free(of, row);
        for (; next > 0 && of->lifetimes->lifetimes[next - 1].born > row; next--) {
            pass(of, &of->lifetimes->lifetimes[next - 1]);
            if (!is_same_line(of, to->of_row[row], of->last)) {
                to->of_row[row] = TIDE_NONE;
            }
        }
    }
}

tide_status tide_inferred_lines_init(tide_inferred_lines *inferred, const tide_block_lines *lines,
                                     const tide_lifetimes *lifetimes, size_t device) {
    const tide_hostmem *mem = lines->stacks->mem;
    size_t n_rows = lines->stacks->snapshot->n_events;
    walk of = {.lines = lines, .lifetimes = lifetimes, .device = device};
    *inferred = (tide_inferred_lines){.mem = mem, .n_rows = n_rows};
    inferred->of_row = tide_hostmem_array(mem, n_rows, sizeof(*inferred->of_row));
    of.freed = tide_hostmem_array(mem, n_rows, sizeof(*of.freed));
    tide_status status = inferred->of_row != NULL && of.freed != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status == TIDE_OK) {
        for (size_t row = 0; row < n_rows; row++) {
            of.freed[row] = TIDE_NONE;
        }
        for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
            uint32_t freed = lifetimes->lifetimes[i].freed;
            if (freed > 0 && freed <= n_rows) {
                of.freed[freed - 1] = (uint32_t)i;
            }
        }
        look_before(&of, inferred);
        look_after(&of, inferred);
    }
    mem->release(mem->ctx, of.freed);
    return status;
}

void tide_inferred_lines_fini(tide_inferred_lines *inferred) {
    if (inferred->mem != NULL) {
        inferred->mem->release(inferred->mem->ctx, inferred->of_row);
        *inferred = (tide_inferred_lines){.mem = inferred->mem};
    }
}

uint32_t tide_inferred_line(const tide_inferred_lines *inferred, const tide_lifetime *block) {
    return inferred->of_row != NULL && block->born > 0 && block->born <= inferred->n_rows
               ? inferred->of_row[block->born - 1]
               : TIDE_NONE;
}
