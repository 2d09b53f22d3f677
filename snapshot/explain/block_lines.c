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
    }
    return TIDE_OK;
}

void tide_block_lines_fini(tide_block_lines *lines) {
    if (lines->stacks != NULL) {
        lines->stacks->mem->release(lines->stacks->mem->ctx, lines->calls);
        tide_map_fini(&lines->module_of);
        *lines = (tide_block_lines){0};
    }
}

/* ---- the line of a block ---- */

/* The line of the module's last forward allocation before an instant; TIDE_NONE. */
static uint32_t last_call(const tide_block_lines *lines, uint32_t module, uint32_t born) {
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
    return low > 0 && lines->calls[low - 1].module == module ? lines->calls[low - 1].node
                                                             : TIDE_NONE;
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
        uint32_t node = find_module(lines, name, n, &key, &module)
                            ? last_call(lines, module, block->born)
                            : TIDE_NONE;
        if (node != TIDE_NONE) {
            return node;
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
