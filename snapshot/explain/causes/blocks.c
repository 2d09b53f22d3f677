#include "snapshot/explain/causes/blocks.h"

#include <string.h>

#include "common/map.h"
#include "snapshot/explain/common_line.h"

#define COMMON_SHARE 0.85 /* of the bytes, below a line that represents them */

enum { BUILT = TIDE_IN_MODULE_INIT | TIDE_IN_CONVERSION };

tide_status tide_cause_blocks_init(tide_cause_blocks *of, const tide_facts *facts,
                                   tide_cause_test *test) {
    *of = (tide_cause_blocks){.mem = facts->mem};
    of->blocks = tide_hostmem_array(facts->mem, facts->n_peak, sizeof(*of->blocks));
    if (of->blocks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (test(facts, block)) {
            of->blocks[of->n_blocks++] = facts->peak[i];
            of->bytes += (int64_t)block->block_bytes;
        }
    }
    return TIDE_OK;
}

void tide_cause_blocks_fini(tide_cause_blocks *of) {
    if (of->mem != NULL) {
        of->mem->release(of->mem->ctx, of->blocks);
        *of = (tide_cause_blocks){0};
    }
}

bool tide_cause_blocks_reach(const tide_cause_blocks *of, const tide_facts *facts, double share) {
    return of->n_blocks > 0 && (double)of->bytes >= share * (double)facts->peak_bytes;
}

tide_status tide_cause_blocks_line(const tide_cause_blocks *of, const tide_facts *facts,
                                   uint32_t *ret_node) {
    tide_common_line line;
    TIDE_TRY(tide_common_line_find(&facts->lines, facts->lifetimes, of->blocks, of->n_blocks,
                                   COMMON_SHARE, &line));
    *ret_node = line.node;
    return TIDE_OK;
}

/* ---- sizes ---- */

static tide_status count_sizes(const tide_cause_blocks *of, const tide_facts *facts, tide_map *to) {
    for (size_t i = 0; i < of->n_blocks; i++) {
        uint64_t size = tide_facts_block(facts, of->blocks[i])->block_bytes;
        uint64_t n = 0;
        (void)tide_map_find(to, size, &n);
        TIDE_TRY(tide_map_put(to, size, n + 1));
    }
    return TIDE_OK;
}

static tide_status take_twins(const tide_cause_blocks *of, const tide_facts *facts, tide_map *sizes,
                              int64_t *ret_bytes) {
    *ret_bytes = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        uint64_t size = tide_facts_block(facts, of->blocks[i])->block_bytes;
        uint64_t n = 0;
        if (tide_map_find(sizes, size, &n) && n > 0) {
            *ret_bytes += (int64_t)size;
            TIDE_TRY(tide_map_put(sizes, size, n - 1));
        }
    }
    return TIDE_OK;
}

tide_status tide_cause_blocks_twins(const tide_cause_blocks *of, const tide_cause_blocks *others,
                                    const tide_facts *facts, int64_t *ret_bytes) {
    tide_map sizes; /* size -> number of others that are no twin yet */
    tide_map_init(&sizes, facts->mem);
    tide_status status = count_sizes(others, facts, &sizes);
    status = status == TIDE_OK ? take_twins(of, facts, &sizes, ret_bytes) : status;
    tide_map_fini(&sizes);
    return status;
}

tide_status tide_cause_blocks_common_size(const tide_cause_blocks *of, const tide_facts *facts,
                                          uint64_t *ret_bytes, size_t *ret_n) {
    tide_map sizes;
    tide_map_init(&sizes, facts->mem);
    tide_status status = count_sizes(of, facts, &sizes);
    *ret_bytes = 0;
    *ret_n = 0;
    for (size_t i = 0; i < sizes.n_slots; i++) {
        const tide_map_slot *slot = &sizes.slots[i];
        bool is_more = slot->used &&
                       (slot->value > *ret_n || (slot->value == *ret_n && slot->key > *ret_bytes));
        *ret_bytes = is_more ? slot->key : *ret_bytes;
        *ret_n = is_more ? (size_t)slot->value : *ret_n;
    }
    tide_map_fini(&sizes);
    return status;
}

/* ---- what a block is ---- */

static bool is_category(const tide_facts *facts, const tide_lifetime *block, const char *name) {
    return strcmp(tide_snapshot_category(facts->snapshot, block->category), name) == 0;
}

bool tide_cause_is_state(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t made = tide_facts_traits(facts, block);
    return block->category == TIDE_PARAMETER || block->category == TIDE_GRADIENT ||
           block->category == TIDE_OPTIMIZER_STATE || block->category == TIDE_INPUT ||
           is_category(facts, block, "buffer") ||
           (made & (BUILT | TIDE_IN_LOAD | TIDE_IN_DEEPCOPY | TIDE_IN_OPTIMIZER)) != 0;
}

bool tide_cause_is_weight(const tide_facts *facts, const tide_lifetime *block) {
    return block->category == TIDE_PARAMETER || is_category(facts, block, "buffer") ||
           (tide_facts_traits(facts, block) & BUILT) != 0;
}

bool tide_cause_is_bucket(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t python = block->stack != TIDE_NONE ? facts->stacks.python[block->stack] : TIDE_NONE;
    bool is_called = false;
    if (python != TIDE_NONE) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[python].frame];
        is_called = strstr(tide_snapshot_text(facts->snapshot, row->file),
                           "torch/nn/parallel/distributed.py") != NULL;
    }
    return is_called || (tide_facts_traits(facts, block) & TIDE_IN_DDP) != 0;
}

bool tide_cause_is_of_layer(const tide_facts *facts, uint32_t stack) {
    uint32_t line = tide_stack_program(&facts->stacks, stack);
    uint32_t at = stack != TIDE_NONE ? facts->stacks.python[stack] : TIDE_NONE;
    for (; at != line && at != TIDE_NONE; at = facts->snapshot->stacks[at].parent) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[at].frame];
        if (strstr(tide_snapshot_text(facts->snapshot, row->file), "torch/nn/modules/") != NULL) {
            return true;
        }
    }
    return false;
}

bool tide_cause_is_gathered(const tide_facts *facts, const tide_lifetime *block) {
    for (uint32_t at = block->stack; at != TIDE_NONE; at = facts->snapshot->stacks[at].parent) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[at].frame];
        if (strstr(tide_snapshot_text(facts->snapshot, row->file),
                   "torch/nn/parallel/scatter_gather.py") != NULL) {
            return true;
        }
    }
    return false;
}

size_t tide_cause_dimensions(const tide_facts *facts, const tide_lifetime *block) {
    const char *at = strchr(tide_snapshot_text(facts->snapshot, block->name), '[');
    size_t n = at != NULL;
    for (; at != NULL && *at != '\0' && *at != ']'; at++) {
        n += *at == ',';
    }
    return n;
}

uint8_t tide_cause_mode(const tide_facts *facts, const tide_lifetime *block) {
    const uint8_t *modes = facts->snapshot->event_mode;
    return modes != NULL && block->born > 0 ? modes[block->born - 1] : TIDE_AUTOGRAD_UNKNOWN;
}

bool tide_cause_is_pooled(const tide_facts *facts, const tide_lifetime *block) {
    const uint16_t *pools = facts->snapshot->event_pool;
    return pools != NULL && block->born > 0 && pools[block->born - 1] != 0;
}

/* ---- names of functions and of nodes ---- */

static const char *function_of(const tide_facts *facts, uint32_t node) {
    const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[node].frame];
    return tide_snapshot_text(facts->snapshot, row->function);
}

static bool is_node_frame(const char *function) {
    return strstr(function, "Backward") != NULL && strstr(function, "apply") != NULL;
}

bool tide_cause_is_node(const tide_facts *facts, const tide_lifetime *block, const char *part) {
    uint32_t node = tide_node_of(&facts->scopes, block->scope);
    if (node != TIDE_NONE) {
        return strstr(tide_snapshot_text(facts->snapshot, node), part) != NULL;
    }
    for (uint32_t at = block->stack; at != TIDE_NONE; at = facts->snapshot->stacks[at].parent) {
        const char *function = function_of(facts, at);
        if (is_node_frame(function) && strstr(function, part) != NULL) {
            return true;
        }
    }
    return false;
}

const char *tide_cause_node(const tide_facts *facts, const tide_lifetime *block) {
    return tide_snapshot_text(facts->snapshot, tide_node_of(&facts->scopes, block->scope));
}

bool tide_cause_is_made_by(const tide_facts *facts, const tide_lifetime *block, const char *name) {
    const char *tensor = tide_snapshot_text(facts->snapshot, block->name);
    size_t n = strlen(name);
    return strncmp(tensor, name, n) == 0 && tensor[n] == ' ';
}

const char *tide_cause_function(const tide_facts *facts, uint32_t node) {
    const char *function = function_of(facts, node);
    const char *dot = strrchr(function, '.');
    return dot != NULL ? dot + 1 : function;
}

bool tide_cause_is_called(const tide_facts *facts, uint32_t stack, const char *function, size_t n) {
    uint32_t at = stack != TIDE_NONE ? facts->stacks.python[stack] : TIDE_NONE;
    for (size_t i = 0; i < n && at != TIDE_NONE; i++) {
        if (strcmp(tide_cause_function(facts, at), function) == 0) {
            return true;
        }
        uint32_t parent = facts->snapshot->stacks[at].parent;
        at = parent != TIDE_NONE ? facts->stacks.python[parent] : TIDE_NONE;
    }
    return false;
}

bool tide_cause_is_same_function(const tide_facts *facts, uint32_t a, uint32_t b) {
    if (a == TIDE_NONE || b == TIDE_NONE) {
        return false;
    }
    const tide_frame_row *first = &facts->snapshot->frames[facts->snapshot->stacks[a].frame];
    const tide_frame_row *second = &facts->snapshot->frames[facts->snapshot->stacks[b].frame];
    return first->function == second->function && first->file == second->file;
}

/* ---- words ---- */

void tide_cause_add_bytes(const tide_facts *facts, int64_t bytes, tide_text *to) {
    char text[TIDE_BYTES_TEXT];
    char share[TIDE_SHARE_TEXT];
    tide_text_add(to, "%s of the peak (%s)", tide_bytes_format(bytes, text),
                  tide_cause_share((double)bytes / (double)facts->peak_bytes, share));
}

tide_cause tide_cause_of_peak(const tide_facts *facts, const char *id, int64_t bytes) {
    return (tide_cause){.id = id,
                        .tier = TIDE_TIER_PEAK,
                        .share = (double)bytes / (double)facts->peak_bytes,
                        .bytes = bytes};
}

uint32_t tide_cause_call_of_model(const tide_facts *facts) {
    uint32_t line = tide_stack_program(&facts->stacks, facts->failure.stack);
    bool is_in = (tide_stack_traits(&facts->stacks, line) & TIDE_IN_FORWARD) != 0;
    while (line != TIDE_NONE && (tide_stack_traits(&facts->stacks, line) & TIDE_IN_FORWARD) != 0) {
        line = tide_stack_program_caller(&facts->stacks, line);
    }
    return is_in ? line : TIDE_NONE;
}
