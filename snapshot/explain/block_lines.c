#include "snapshot/explain/block_lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/assert.h"

typedef struct named {
    const tide_snapshot *snapshot;
    const char *name;
    size_t n_bytes;
} named;

static bool is_module(const void *ctx, uint64_t string) {
    const named *of = ctx;
    const char *text = tide_snapshot_text(of->snapshot, (uint32_t)string);
    return strncmp(text, of->name, of->n_bytes) == 0 && text[of->n_bytes] == '\0';
}

/* The string of a module whose name is the first n_bytes of `name`. */
static bool find_module(const tide_block_lines *lines, const char *name, size_t n_bytes,
                        uint64_t *ret_key, uint32_t *ret_module) {
    const named of = {lines->stacks->snapshot, name, n_bytes};
    uint64_t module = 0;
    bool is_found = tide_map_find_equal(&lines->module_of, tide_hash_bytes(name, n_bytes),
                                        is_module, &of, ret_key, &module);
    *ret_module = (uint32_t)module;
    return is_found;
}

bool tide_block_is_backward(const tide_block_lines *lines, const tide_lifetime *block) {
    return tide_phase_of(lines->scopes, block->scope) == TIDE_PHASE_BACKWARD ||
           tide_node_of(lines->scopes, block->scope) != TIDE_NONE ||
           (tide_stack_traits(lines->stacks, block->stack) & TIDE_IN_GRADIENT) != 0;
}

bool tide_block_is_forward(const tide_block_lines *lines, const tide_lifetime *block) {
    bool is_named = !lines->stacks->has_python &&
                    tide_phase_of(lines->scopes, block->scope) == TIDE_PHASE_FORWARD;
    bool is_called = (tide_stack_traits(lines->stacks, block->stack) & TIDE_IN_FORWARD) != 0;
    return (is_named || is_called) && !tide_block_is_backward(lines, block);
}

/* ---- the forward calls of each module ---- */

static int by_module(const void *left, const void *right) {
    const tide_module_call *a = left;
    const tide_module_call *b = right;
    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    return a->born < b->born ? -1 : a->born > b->born;
}

/* Names the string by which the module is known: strings with one text count as one. */
static tide_status name_module(tide_block_lines *lines, uint32_t string, uint32_t *ret_module) {
    const char *name = tide_snapshot_text(lines->stacks->snapshot, string);
    uint64_t key = 0;
    if (find_module(lines, name, strlen(name), &key, ret_module)) {
        return TIDE_OK;
    }
    *ret_module = string;
    return tide_map_put(&lines->module_of, key, string);
}

static tide_status add_call(tide_block_lines *lines, const tide_lifetime *block) {
    uint32_t string = tide_module_of(lines->scopes, block->scope);
    uint32_t node = tide_stack_program(lines->stacks, block->stack);
    if (string == TIDE_NONE || node == TIDE_NONE || !tide_block_is_forward(lines, block)) {
        return TIDE_OK;
    }
    tide_module_call *call = &lines->calls[lines->n_calls];
    TIDE_TRY(name_module(lines, string, &call->module));
    call->born = block->born;
    call->node = node;
    lines->n_calls++;
    return TIDE_OK;
}

/* ---- what the backward pass frees next ---- */

/* Walks from the last row to the first. A block that is no part of the backward pass ends it. */
static void look_ahead(tide_block_lines *lines, uint32_t *freed) {
    const tide_lifetime *all = lines->lifetimes->lifetimes;
    size_t next = lines->lifetimes->n_lifetimes;
    uint32_t last = TIDE_NONE;
    for (size_t row = lines->n_rows; row-- > 0;) {
        uint32_t block = freed[row];
        if (block != TIDE_NONE && !tide_block_is_backward(lines, &all[block])) {
            uint32_t scope = tide_event_at(lines->stacks->snapshot, row).scope;
            bool is_in = tide_phase_of(lines->scopes, scope) == TIDE_PHASE_BACKWARD;
            last = is_in ? block : TIDE_NONE;
        }
        for (; next > 0 && all[next - 1].born > row; next--) {
            if (!tide_block_is_backward(lines, &all[next - 1])) {
                last = TIDE_NONE;
            }
        }
        lines->next_freed[row] = last;
    }
}

static tide_status find_next_freed(tide_block_lines *lines, const tide_lifetimes *lifetimes) {
    const tide_hostmem *mem = lines->stacks->mem;
    lines->lifetimes = lifetimes;
    lines->n_rows = lines->stacks->snapshot->n_events;
    lines->next_freed = tide_hostmem_array(mem, lines->n_rows, sizeof(*lines->next_freed));
    uint32_t *freed = tide_hostmem_array(mem, lines->n_rows, sizeof(*freed));
    tide_status status = lines->next_freed != NULL && freed != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status == TIDE_OK) {
        memset(freed, 0xff, lines->n_rows * sizeof(*freed)); /* TIDE_NONE */
        for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
            uint32_t row = lifetimes->lifetimes[i].freed;
            if (row > 0 && row <= lines->n_rows) {
                freed[row - 1] = (uint32_t)i;
            }
        }
        look_ahead(lines, freed);
    }
    mem->release(mem->ctx, freed);
    return status;
}

tide_status tide_block_lines_init(tide_block_lines *lines, const tide_stack_facts *stacks,
                                  const tide_scope_facts *scopes, const tide_lifetimes *lifetimes) {
    const tide_hostmem *mem = stacks->mem;
    *lines = (tide_block_lines){.stacks = stacks, .scopes = scopes};
    tide_map_init(&lines->module_of, mem);
    lines->calls = tide_hostmem_array(mem, lifetimes->n_lifetimes, sizeof(*lines->calls));
    if (lines->calls == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        TIDE_TRY(add_call(lines, &lifetimes->lifetimes[i]));
    }
    if (lines->n_calls > 0) {
        qsort(lines->calls, lines->n_calls, sizeof(*lines->calls), by_module);
        return find_next_freed(lines, lifetimes);
    }
    return TIDE_OK;
}

void tide_block_lines_fini(tide_block_lines *lines) {
    if (lines->stacks != NULL) {
        lines->stacks->mem->release(lines->stacks->mem->ctx, lines->calls);
        lines->stacks->mem->release(lines->stacks->mem->ctx, lines->next_freed);
        tide_map_fini(&lines->module_of);
        *lines = (tide_block_lines){0};
    }
}

/* ---- the line of a block ---- */

/* The module's last forward allocation before an instant; NULL. */
static const tide_module_call *last_call(const tide_block_lines *lines, uint32_t module,
                                         uint32_t born) {
    size_t low = 0;
    size_t high = lines->n_calls;
    while (low < high) { /* the first call that comes later */
        size_t middle = low + (high - low) / 2;
        const tide_module_call *call = &lines->calls[middle];
        if (call->module < module || (call->module == module && call->born <= born)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && lines->calls[low - 1].module == module ? &lines->calls[low - 1] : NULL;
}

/* The line of the activation that is freed next, if code outside of modules made it after that
 * call. TIDE_NONE. */
static uint32_t line_outside(const tide_block_lines *lines, const tide_lifetime *block,
                             const tide_module_call *call) {
    bool has_row = lines->next_freed != NULL && block->born > 0 && block->born <= lines->n_rows;
    uint32_t next = has_row ? lines->next_freed[block->born - 1] : TIDE_NONE;
    if (next == TIDE_NONE) {
        return TIDE_NONE;
    }
    const tide_lifetime *freed = &lines->lifetimes->lifetimes[next];
    uint32_t traits = tide_stack_traits(lines->stacks, freed->stack);
    bool is_outside = freed->device == block->device && freed->born > call->born &&
                      freed->born < block->born && freed->category == TIDE_ACTIVATION &&
                      (traits & (TIDE_IN_FORWARD | TIDE_IN_OPTIMIZER)) == 0;
    return is_outside ? tide_stack_program(lines->stacks, freed->stack) : TIDE_NONE;
}

static uint32_t forward_line(const tide_block_lines *lines, const tide_lifetime *block) {
    uint32_t string = tide_module_of(lines->scopes, block->scope);
    if (string == TIDE_NONE) {
        return TIDE_NONE;
    }
    const char *name = tide_snapshot_text(lines->stacks->snapshot, string);
    size_t n = strlen(name);
    while (n > 0) {
        uint64_t key = 0;
        uint32_t module = TIDE_NONE;
        const tide_module_call *call = find_module(lines, name, n, &key, &module)
                                           ? last_call(lines, module, block->born)
                                           : NULL;
        if (call != NULL) {
            uint32_t outside = line_outside(lines, block, call);
            return outside != TIDE_NONE ? outside : call->node;
        }
        do { /* the module around it */
            n--;
        } while (n > 0 && name[n] != '.');
    }
    return TIDE_NONE;
}

uint32_t tide_block_line(const tide_block_lines *lines, const tide_lifetime *block) {
    uint32_t own = tide_stack_program(lines->stacks, block->stack);
    if (own != TIDE_NONE && !tide_block_is_backward(lines, block)) {
        return own;
    }
    uint32_t forward = forward_line(lines, block);
    return forward != TIDE_NONE ? forward : own;
}
