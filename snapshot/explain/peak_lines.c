#include "snapshot/explain/peak_lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/words/user_line.h"

static const char AUTOGRAD[] = "torch::autograd::";

static const char *function_of(const tide_snapshot *snapshot, uint32_t frame) {
    return tide_snapshot_text(snapshot, snapshot->frames[frame].function);
}

/* "PowBackward0" of "torch::autograd::generated::PowBackward0::apply(...)". */
static void add_operation(const char *function, tide_text *to) {
    const char *end = strstr(function, "::apply");
    const char *start = end != NULL ? end : function + strlen(function);
    end = start;
    while (start > function && start[-1] != ':') {
        start--;
    }
    tide_text_add(to, "%.*s", (int)(end - start), start);
}

/* The frame that represents a stack without a line of the program: of a library of models, or an
 * operation, never Python code of PyTorch. TIDE_NONE. */
static uint32_t frame_of(const tide_snapshot *snapshot, uint32_t stack) {
    uint32_t frame = tide_user_frame(snapshot, stack);
    const char *file =
        frame != TIDE_NONE ? tide_snapshot_text(snapshot, snapshot->frames[frame].file) : "";
    bool is_other = tide_file_is_python(file) && !tide_frame_is_model_library(snapshot, frame);
    return is_other ? TIDE_NONE : frame;
}

tide_place tide_place_of(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t own = tide_block_line(&facts->lines, block);
    uint32_t line = own != TIDE_NONE ? own : tide_inferred_line(&facts->inferred, block);
    uint32_t frame = line == TIDE_NONE && block->stack != TIDE_NONE
                         ? frame_of(facts->snapshot, block->stack)
                         : TIDE_NONE;
    uint32_t node = tide_node_of(&facts->scopes, block->scope);
    if (line != TIDE_NONE) {
        return (tide_place){TIDE_PLACE_LINE, own == TIDE_NONE, facts->snapshot->stacks[line].frame};
    }
    if (frame != TIDE_NONE) {
        bool is_operation =
            strncmp(function_of(facts->snapshot, frame), AUTOGRAD, sizeof(AUTOGRAD) - 1) == 0;
        return (tide_place){is_operation ? TIDE_PLACE_OPERATION : TIDE_PLACE_FRAME, false, frame};
    }
    if (node != TIDE_NONE) {
        return (tide_place){TIDE_PLACE_NODE, false, node};
    }
    return (tide_place){block->born == 0 ? TIDE_PLACE_BEFORE : TIDE_PLACE_UNKNOWN, false,
                        TIDE_NONE};
}

void tide_place_add(const tide_facts *facts, const tide_place *place, tide_text *to) {
    switch (place->kind) {
    case TIDE_PLACE_LINE:
    case TIDE_PLACE_FRAME:
        tide_user_line_add_frame(facts->snapshot, place->index, to);
        break;
    case TIDE_PLACE_OPERATION:
        add_operation(function_of(facts->snapshot, place->index), to);
        break;
    case TIDE_PLACE_NODE:
        tide_text_add(to, "%s", tide_snapshot_text(facts->snapshot, place->index));
        break;
    case TIDE_PLACE_BEFORE:
        tide_text_add(to, "%s",
                      facts->snapshot->n_dropped > 0 ? "from before the events that were kept"
                                                     : "from before the recording");
        break;
    case TIDE_PLACE_UNKNOWN:
        tide_text_add(to, "an unknown line");
        break;
    }
}

bool tide_place_is_source(const tide_place *place) {
    return place->kind == TIDE_PLACE_LINE || place->kind == TIDE_PLACE_FRAME;
}

static int by_bytes(const void *left, const void *right) {
    const tide_peak_line *a = left;
    const tide_peak_line *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    if (a->place.kind != b->place.kind) {
        return a->place.kind < b->place.kind ? -1 : 1;
    }
    return a->place.index < b->place.index ? -1 : a->place.index > b->place.index;
}

static void count(const tide_facts *facts, const tide_lifetime *block, bool is_inferred,
                  tide_peak_line *to) {
    int64_t bytes = (int64_t)block->block_bytes;
    to->bytes += bytes;
    bool is_backward = is_inferred || tide_block_is_backward(&facts->lines, block);
    to->backward_bytes += is_backward ? bytes : 0;
    to->inferred_bytes += is_inferred ? bytes : 0;
    to->requested_bytes += (int64_t)block->requested_bytes;
    to->by_category[block->category] += bytes;
    to->n_blocks++;
}

/* The blocks of one name at one line. */
typedef struct tensor_count {
    int64_t bytes;
    size_t n_blocks;
} tensor_count;

/* What blocks are grouped by. */
typedef struct grouping {
    const tide_facts *facts; /* borrowed */
    tide_map index_of;       /* place -> index in the lines */
    tide_map tensor_of;      /* index in the lines, and name -> index in the counts */
    tensor_count *tensors;   /* owned */
    size_t n_tensors, room;
} grouping;

/* Counts a block of a tensor that an operator made; other names are of one block each. */
static tide_status count_tensor(grouping *of, const tide_lifetime *block, uint64_t index,
                                tide_peak_line *line) {
    uint64_t key = index << 32 | block->name;
    uint64_t number = of->n_tensors;
    if (block->name == TIDE_NONE || tide_lifetime_own_name(block) != TIDE_NONE) {
        return TIDE_OK;
    }
    if (!tide_map_find(&of->tensor_of, key, &number)) {
        tensor_count *grown = tide_hostmem_grow(of->facts->mem, of->tensors, &of->room,
                                                of->n_tensors + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        of->tensors = grown;
        of->tensors[of->n_tensors++] = (tensor_count){0};
        TIDE_TRY(tide_map_put(&of->tensor_of, key, number));
    }
    tensor_count *tensor = &of->tensors[number];
    tensor->bytes += (int64_t)block->block_bytes;
    tensor->n_blocks++;
    if (tensor->bytes > line->tensor_bytes) {
        line->tensor = block->name;
        line->tensor_bytes = tensor->bytes;
        line->n_tensor_blocks = tensor->n_blocks;
    }
    return TIDE_OK;
}

static bool is_named(const tide_facts *facts, const tide_place *place, const tide_lifetime *block) {
    return place->kind == TIDE_PLACE_LINE &&
           (block->name != TIDE_NONE || tide_node_of(&facts->scopes, block->scope) != TIDE_NONE);
}

static tide_status add(tide_peak_lines *lines, grouping *of, const tide_lifetime *block) {
    const tide_facts *facts = of->facts;
    tide_place place = tide_place_of(facts, block);
    bool is_inferred = place.is_inferred;
    uint64_t key = ((uint64_t)place.kind << 32) | place.index;
    uint64_t index = lines->n_lines;
    if (!tide_map_find(&of->index_of, key, &index)) {
        tide_peak_line *grown = tide_hostmem_grow(lines->mem, lines->lines, &lines->room,
                                                  lines->n_lines + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        lines->lines = grown;
        TIDE_TRY(tide_map_put(&of->index_of, key, index));
        place.is_inferred = false; /* of the line, some blocks may be */
        lines->lines[lines->n_lines++] = (tide_peak_line){.place = place, .tensor = TIDE_NONE};
    }
    lines->named_bytes += is_named(facts, &place, block) ? (int64_t)block->block_bytes : 0;
    count(facts, block, is_inferred, &lines->lines[index]);
    lines->bytes += (int64_t)block->block_bytes;
    lines->by_category[block->category] += (int64_t)block->block_bytes;
    return count_tensor(of, block, index, &lines->lines[index]);
}

/* Groups the lifetimes with these indices; NULL: the first n. */
static tide_status group(tide_peak_lines *lines, const tide_facts *facts,
                         const tide_lifetime *blocks, const uint32_t *indices, size_t n) {
    grouping of = {.facts = facts};
    tide_status status = TIDE_OK;
    *lines = (tide_peak_lines){.mem = facts->mem};
    tide_map_init(&of.index_of, facts->mem);
    tide_map_init(&of.tensor_of, facts->mem);
    for (size_t i = 0; i < n && status == TIDE_OK; i++) {
        status = add(lines, &of, &blocks[indices != NULL ? indices[i] : i]);
    }
    facts->mem->release(facts->mem->ctx, of.tensors);
    tide_map_fini(&of.tensor_of);
    tide_map_fini(&of.index_of);
    if (lines->n_lines > 0) {
        qsort(lines->lines, lines->n_lines, sizeof(*lines->lines), by_bytes);
    }
    return status;
}

tide_status tide_peak_lines_init(tide_peak_lines *lines, const tide_facts *facts) {
    return group(lines, facts, facts->lifetimes->lifetimes, facts->peak, facts->n_peak);
}

tide_status tide_peak_lines_init_of(tide_peak_lines *lines, const tide_facts *facts,
                                    const tide_lifetime *blocks, size_t n_blocks) {
    return group(lines, facts, blocks, NULL, n_blocks);
}

void tide_peak_lines_fini(tide_peak_lines *lines) {
    if (lines->mem != NULL) {
        lines->mem->release(lines->mem->ctx, lines->lines);
        *lines = (tide_peak_lines){.mem = lines->mem};
    }
}
