/* Names of blocks, by their addresses. Unnamed blocks get their category by rule
 * (snapshot/analysis/category_rules.h). */
#include <string.h>

#include "common/map.h"
#include "programs/launch/document/document_internal.h"
#include "snapshot/document/categories.h"

typedef struct namer {
    tide_document *document;
    tide_category_list categories;
    tide_map alive; /* address -> event, or n_events + block of the start */
    size_t device;
    size_t at; /* next name of the process */
} namer;

/* The description of a block at its birth: at its allocation, or before the first event. */
typedef struct block_words {
    uint32_t *name;
    uint8_t *category;
    uint8_t *certainty;
    size_t birth; /* its event + 1; 0: before the first event */
} block_words;

/* False: no block is known at the address. */
static bool find_block(const namer *of, uint64_t address, block_words *ret) {
    tide_document *document = of->document;
    uint64_t number = 0;
    if (!tide_map_find(&of->alive, address, &number)) {
        return false;
    }
    if (number < document->snapshot->n_events) {
        *ret = (block_words){&document->name[number], &document->category[number],
                             &document->certainty[number], (size_t)number + 1};
    } else {
        size_t i = (size_t)(number - document->snapshot->n_events);
        tide_block_row *block = &document->start_blocks[i];
        *ret = (block_words){&block->name, &block->category, &document->start_certainty[i], 0};
    }
    return true;
}

/* Whether the name is better than the block's current description. By rule, only memory that the
 * host has filled can be an input passed to a module, which has the argument's name. */
static bool is_better(const tide_left_name *name, const block_words *block) {
    bool is_argument = name->is_by_rule && name->name[0] != '\0';
    bool is_from_host = *block->certainty == TIDE_CERTAINTY_RULE && *block->category == TIDE_INPUT;
    return !name->is_by_rule ||
           (is_argument && strcmp(name->category, "input") == 0 ? is_from_host
                                                                : *block->category == TIDE_UNKNOWN);
}

static tide_status name_block(namer *of, const tide_left_name *name) {
    block_words block;
    tide_error reason;
    if (!find_block(of, name->address, &block)) {
        return TIDE_OK;
    }
    if (name->category[0] == '\0') {
        return *block.name != TIDE_NONE
                   ? TIDE_OK
                   : tide_document_string(of->document, name->name, block.name);
    }
    if (!is_better(name, &block)) {
        return TIDE_OK;
    }
    *block.certainty = name->is_by_rule ? TIDE_CERTAINTY_RULE : TIDE_CERTAINTY_NAMED;
    if (name->name[0] != '\0') {
        TIDE_TRY(tide_document_string(of->document, name->name, block.name));
    }
    int known = tide_category_from_words(name->category);
    const char *word = known >= 0 ? tide_category_name(known) : name->category;
    return tide_category_list_number(&of->categories, word, block.category, &reason);
}

/* Applies the names that come before the row. */
static tide_status take_names(namer *of, int64_t row) {
    const tide_left *left = of->document->left;
    for (; of->at < left->n_names; of->at++) {
        const tide_left_name *name = &left->names[of->at];
        if (name->device == of->device && name->row > row) {
            break;
        }
        if (name->device == of->device) {
            TIDE_TRY(name_block(of, name));
        }
    }
    return TIDE_OK;
}

/* Copies the block's description to its free event. */
static void take_free(namer *of, size_t i, const block_words *block) {
    const tide_event_table *events = &of->document->snapshot->events;
    of->document->name[i] = *block->name;
    of->document->category[i] = *block->category;
    of->document->certainty[i] = *block->certainty;
    if (events->action[i] != TIDE_ACTION_FREE_REQUESTED) {
        (void)tide_map_remove(&of->alive, events->address[i]);
    }
}

static tide_status take_event(namer *of, size_t i) {
    const tide_event_table *events = &of->document->snapshot->events;
    uint8_t action = events->action[i];
    block_words block;
    if (action == TIDE_ACTION_ALLOC) {
        return tide_map_put(&of->alive, events->address[i], i);
    }
    if ((action == TIDE_ACTION_FREE || action == TIDE_ACTION_FREE_REQUESTED ||
         action == TIDE_ACTION_FREE_COMPLETED) &&
        find_block(of, events->address[i], &block)) {
        take_free(of, i, &block);
    }
    return TIDE_OK;
}

/* Calls `visit` for each block of the device that is in use at one end of the recording. */
static tide_status visit_blocks(namer *of, const tide_segment_row *segments, size_t n_segments,
                                const tide_block_row *blocks,
                                tide_status (*visit)(namer *of, size_t block, uint64_t address)) {
    for (size_t i = 0; i < n_segments; i++) {
        for (size_t b = 0; b < segments[i].n_blocks && segments[i].device == of->device; b++) {
            size_t block = segments[i].first_block + b;
            if (blocks[block].state != TIDE_BLOCK_FREE) {
                TIDE_TRY(visit(of, block, segments[i].address + blocks[block].offset_bytes));
            }
        }
    }
    return TIDE_OK;
}

static tide_status enter_start_block(namer *of, size_t block, uint64_t address) {
    return tide_map_put(&of->alive, address, of->document->snapshot->n_events + block);
}

static tide_status name_end_block(namer *of, size_t block, uint64_t address) {
    block_words words;
    tide_block_row *row = &of->document->end_blocks[block];
    if (find_block(of, address, &words)) {
        row->name = *words.name;
        row->category = *words.category;
        of->document->end_certainty[block] = *words.certainty;
        of->document->end_rows[block] = words.birth;
    }
    return TIDE_OK;
}

static tide_status take_device(namer *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    int64_t row = tide_document_first_row(of->document, of->device);
    of->at = 0;
    TIDE_TRY(visit_blocks(of, snapshot->start_segments, snapshot->n_start_segments,
                          snapshot->start_blocks, enter_start_block));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.device[i] == of->device) {
            TIDE_TRY(take_names(of, row));
            TIDE_TRY(take_event(of, i));
            row += tide_document_is_row(snapshot->events.action[i]);
        }
    }
    TIDE_TRY(take_names(of, INT64_MAX));
    return visit_blocks(of, snapshot->end_segments, snapshot->n_end_segments, snapshot->end_blocks,
                        name_end_block);
}

tide_status tide_document_add_tensors(tide_document *document) {
    tide_snapshot *snapshot = document->snapshot;
    namer of = {.document = document};
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < snapshot->n_own_categories && i < TIDE_OWN_CATEGORIES; i++) {
        of.categories.names[of.categories.n++] = snapshot->own_categories[i];
    }
    for (size_t i = 0; i < snapshot->n_devices && status == TIDE_OK; i++) {
        of.device = i;
        tide_map_init(&of.alive, snapshot->arena.mem);
        status = take_device(&of);
        tide_map_fini(&of.alive);
    }
    return status == TIDE_OK ? tide_category_list_store(&of.categories, snapshot) : status;
}

tide_status tide_document_copy_names(tide_document *document) {
    const tide_snapshot *snapshot = document->snapshot;
    const tide_event_table *events = &snapshot->events;
    tide_map alive; /* address -> event */
    tide_status status = TIDE_OK;
    tide_map_init(&alive, snapshot->arena.mem);
    for (size_t i = 0; i < snapshot->n_events && status == TIDE_OK; i++) {
        uint64_t born = 0;
        uint8_t action = events->action[i];
        if (action == TIDE_ACTION_ALLOC) {
            status = tide_map_put(&alive, events->address[i], i);
        } else if ((action == TIDE_ACTION_FREE || action == TIDE_ACTION_FREE_REQUESTED ||
                    action == TIDE_ACTION_FREE_COMPLETED) &&
                   tide_map_find(&alive, events->address[i], &born) &&
                   events->device[born] == events->device[i]) {
            document->name[i] = document->name[born];
        }
    }
    tide_map_fini(&alive);
    for (size_t i = 0; i < snapshot->n_end_blocks; i++) {
        if (document->end_rows[i] > 0) {
            document->end_blocks[i].name = document->name[document->end_rows[i] - 1];
        }
    }
    return status;
}
