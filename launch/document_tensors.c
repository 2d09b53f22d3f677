/* Names and categories of blocks: what modules and optimizers hold is known by its address, the
 * rest by its lifetime. */
#include <string.h>

#include "common/map.h"
#include "launch/document_internal.h"
#include "snapshot/categories.h"

typedef struct namer {
    tide_document *document;
    tide_category_list categories;
    tide_map alive; /* address -> row of the event table + 1 */
    size_t device;
    size_t at;       /* next name of the process */
    const char *was; /* phase of the event before; "" outside */
} namer;

static bool is_phase(const namer *of, const tide_event *event, const char *name) {
    const tide_snapshot *snapshot = of->document->snapshot;
    if (event->scope == TIDE_NONE) {
        return false;
    }
    const tide_scope_row *scope = &snapshot->scopes[event->scope];
    const char *text =
        scope->name < snapshot->n_strings
            ? snapshot->strings[scope->name]
            : tide_strings_text(&of->document->added, scope->name - (uint32_t)snapshot->n_strings);
    return scope->kind == TIDE_SCOPE_PHASE && text != NULL && strcmp(text, name) == 0;
}

/* The step that an event lies in; TIDE_NONE: none. */
static uint32_t step_of(const namer *of, const tide_event *event) {
    const tide_snapshot *snapshot = of->document->snapshot;
    uint32_t scope = event->scope;
    while (scope != TIDE_NONE && snapshot->scopes[scope].kind != TIDE_SCOPE_STEP) {
        scope = snapshot->scopes[scope].parent;
    }
    return scope;
}

static tide_status name_block(namer *of, const tide_left_name *name) {
    uint64_t row = 0;
    tide_error reason;
    if (!tide_map_find(&of->alive, name->address, &row)) {
        return TIDE_OK; /* it was allocated before the history begins */
    }
    tide_event *event = &of->document->events[row - 1];
    uint8_t *certainty = &of->document->certainty[row - 1];
    if (name->is_by_rule && event->category != TIDE_UNKNOWN) {
        return TIDE_OK; /* it is known better */
    }
    *certainty = name->is_by_rule ? TIDE_CERTAINTY_RULE : TIDE_CERTAINTY_NAMED;
    if (name->name[0] != '\0') {
        TIDE_TRY(tide_document_string(of->document, name->name, &event->name));
    }
    return tide_category_list_number(&of->categories, name->category, &event->category, &reason);
}

/* Names that belong before the row. */
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

/* What the forward pass made and the backward pass finds alive is an activation. */
static void call_activations(namer *of) {
    for (size_t i = 0; i < of->alive.n_slots; i++) {
        if (of->alive.slots[i].used) {
            tide_event *event = &of->document->events[of->alive.slots[i].value - 1];
            if (event->category == TIDE_UNKNOWN && is_phase(of, event, "forward")) {
                event->category = TIDE_ACTIVATION;
                of->document->certainty[of->alive.slots[i].value - 1] = TIDE_CERTAINTY_RULE;
            }
        }
    }
}

static tide_status take_event(namer *of, size_t i) {
    tide_event *event = &of->document->events[i];
    uint64_t row = 0;
    bool is_backward = is_phase(of, event, "backward");
    if (is_backward && strcmp(of->was, "backward") != 0) {
        call_activations(of);
    }
    of->was = is_backward ? "backward" : "";
    if (event->action == TIDE_ACTION_ALLOC) {
        return tide_map_put(&of->alive, event->address, i + 1);
    }
    if ((event->action == TIDE_ACTION_FREE || event->action == TIDE_ACTION_FREE_REQUESTED ||
         event->action == TIDE_ACTION_FREE_COMPLETED) &&
        tide_map_find(&of->alive, event->address, &row)) {
        tide_event *birth = &of->document->events[row - 1];
        uint32_t step = step_of(of, birth);
        if (birth->category == TIDE_UNKNOWN && step != TIDE_NONE && step == step_of(of, event)) {
            birth->category = TIDE_TEMPORARY;
            of->document->certainty[row - 1] = TIDE_CERTAINTY_RULE;
        }
        of->document->certainty[i] = of->document->certainty[row - 1];
        event->name = birth->name;
        event->category = birth->category;
        if (event->action != TIDE_ACTION_FREE_REQUESTED) {
            (void)tide_map_remove(&of->alive, event->address);
        }
    }
    return TIDE_OK;
}

static void name_end_blocks(namer *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        const tide_segment_row *segment = &snapshot->end_segments[i];
        for (size_t b = 0; b < segment->n_blocks && segment->device == of->device; b++) {
            tide_block_row *block = &of->document->end_blocks[segment->first_block + b];
            uint64_t row = 0;
            if (block->state != TIDE_BLOCK_FREE &&
                tide_map_find(&of->alive, segment->address + block->offset_bytes, &row)) {
                block->name = of->document->events[row - 1].name;
                block->category = of->document->events[row - 1].category;
                of->document->end_rows[segment->first_block + b] = (size_t)row;
                of->document->end_certainty[segment->first_block + b] =
                    of->document->certainty[row - 1];
            }
        }
    }
}

static tide_status take_device(namer *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    int64_t row = tide_document_first_row(of->document, of->device);
    of->at = 0;
    of->was = "";
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events[i].device == of->device) {
            TIDE_TRY(take_names(of, row));
            TIDE_TRY(take_event(of, i));
            row += tide_document_is_row(&snapshot->events[i]);
        }
    }
    TIDE_TRY(take_names(of, INT64_MAX));
    if (of->document->left->is_out_of_memory) {
        call_activations(of); /* the backward pass would have found them */
    }
    name_end_blocks(of);
    return TIDE_OK;
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
