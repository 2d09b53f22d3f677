/* document_kept.c - the names of activations, in steps whose graph was not read (python/tidemark/
 * graph.py).
 *
 * A graph names the blocks of its own backward pass. A block of another step that the same place of
 * the program requested with the same size has that name, if the graph named all such blocks that
 * were born since the backward pass before, and all alike: a place that also makes temporary
 * tensors of that size, which no graph holds, gives no name.
 */
#include <string.h>

#include "common/map.h"
#include "programs/launch/document/document_internal.h"
#include "snapshot/explain/scope_facts.h"

/* Rows of a device between two backward passes, of which the second was read. */
typedef struct window {
    int64_t begin, end;
} window;

typedef struct kept {
    tide_document *document;
    tide_scope_facts scopes;
    size_t device;
    window *windows; /* in the arena; in order */
    size_t n_windows;
    size_t at;         /* the first window that is not over */
    uint64_t last_key; /* of the last allocation: its place and size */
    uint64_t n_same;   /* allocations directly before it with that key */
    tide_map name_of;  /* key of a place and a size -> name; NO_NAME: they differ */
} kept;

#define NO_NAME UINT64_MAX

bool tide_document_is_own_name(const tide_document *document, size_t event) {
    return document->name[event] != TIDE_NONE &&
           (document->certainty[event] == TIDE_CERTAINTY_NAMED ||
            document->category[event] == TIDE_INPUT);
}

/* The row of the last backward pass that begins before a row; 0. */
static int64_t backward_before(const kept *of, int64_t row) {
    const tide_left *left = of->document->left;
    int64_t last = 0;
    for (size_t i = 0; i < left->n_marks && left->marks[i].rows[of->device] < row; i++) {
        last = strcmp(left->marks[i].name, "backward begins") == 0 ? left->marks[i].rows[of->device]
                                                                   : last;
    }
    return last;
}

static tide_status find_windows(kept *of) {
    const tide_left *left = of->document->left;
    of->n_windows = of->at = 0;
    of->windows =
        tide_arena_alloc(&of->document->snapshot->arena, left->n_names + 1, sizeof(*of->windows));
    if (of->windows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < left->n_names; i++) {
        const tide_left_name *name = &left->names[i];
        bool is_known = of->n_windows > 0 && of->windows[of->n_windows - 1].end == name->row;
        if (tide_document_is_kept(name) && name->device == of->device && !is_known) {
            of->windows[of->n_windows++] = (window){backward_before(of, name->row), name->row};
        }
    }
    return TIDE_OK;
}

static bool is_in_window(kept *of, int64_t row) {
    while (of->at < of->n_windows && of->windows[of->at].end <= row) {
        of->at++;
    }
    return of->at < of->n_windows && of->windows[of->at].begin <= row;
}

/* A place, a size, and how many blocks the place requested with that size directly before: an
 * operator that copies its argument for itself makes its result second. */
static uint64_t key_of(kept *of, size_t event) {
    const tide_event_table *events = &of->document->snapshot->events;
    uint64_t place = tide_place_key(&of->scopes, tide_index_at(&events->stack, event),
                                    of->document->scope[event]);
    uint64_t size = tide_bytes_at(&events->requested_bytes, event);
    uint64_t key = tide_hash_u64(place ^ tide_hash_u64(size));
    of->n_same = key == of->last_key ? of->n_same + 1 : 0;
    of->last_key = key;
    return tide_hash_u64(key ^ tide_hash_u64(of->n_same));
}

static tide_status learn(kept *of, size_t event, uint64_t key, bool is_seen) {
    uint32_t name = of->document->name[event];
    uint64_t known = 0;
    if (name == TIDE_NONE && !is_seen) {
        return TIDE_OK;
    }
    uint64_t value = name == TIDE_NONE ? NO_NAME : name;
    bool differs = tide_map_find(&of->name_of, key, &known) && known != value;
    return tide_map_put(&of->name_of, key, differs ? NO_NAME : value);
}

static void apply(kept *of, size_t event, uint64_t key) {
    uint64_t name = NO_NAME;
    if (of->document->name[event] == TIDE_NONE && tide_map_find(&of->name_of, key, &name) &&
        name != NO_NAME) {
        of->document->name[event] = (uint32_t)name;
    }
}

/* Calls `learn` for each allocation of the device, or `apply` for those that no graph could name.
 */
static tide_status visit(kept *of, bool learns) {
    const tide_snapshot *snapshot = of->document->snapshot;
    int64_t row = tide_document_first_row(of->document, of->device);
    of->at = 0;
    of->last_key = of->n_same = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.device[i] != of->device) {
            continue;
        }
        if (snapshot->events.action[i] == TIDE_ACTION_ALLOC &&
            !tide_document_is_own_name(of->document, i)) {
            bool is_seen = is_in_window(of, row);
            uint64_t key = key_of(of, i);
            if (learns) {
                TIDE_TRY(learn(of, i, key, is_seen));
            } else if (!is_seen) {
                apply(of, i, key);
            }
        }
        row += tide_document_is_row(snapshot->events.action[i]);
    }
    return TIDE_OK;
}

static tide_status take_device(kept *of) {
    TIDE_TRY(find_windows(of));
    if (of->n_windows == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(visit(of, true));
    return visit(of, false);
}

tide_status tide_document_add_kept(tide_document *document) {
    tide_snapshot *snapshot = document->snapshot;
    kept of = {.document = document};
    tide_status status = tide_scope_facts_init(&of.scopes, snapshot, snapshot->arena.mem);
    for (size_t i = 0; i < snapshot->n_devices && status == TIDE_OK; i++) {
        of.device = i;
        tide_map_init(&of.name_of, snapshot->arena.mem);
        status = take_device(&of);
        tide_map_fini(&of.name_of);
    }
    tide_scope_facts_fini(&of.scopes);
    return status;
}
