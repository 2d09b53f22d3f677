/* document_align.c - names of results that a graph knows but does not keep.
 *
 * A graph lists the results of its operators in the order in which they were made, and has the
 * addresses of those that it keeps. Between two of these, the results without an address are among
 * the blocks that were allocated in between. If there are as many of a size as there are blocks of
 * that size without a name, they are these blocks, in that order; otherwise they stay unnamed.
 */
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "programs/launch/document/document_internal.h"

enum { MOST_BETWEEN = 4096 /* blocks, or results, between two that are kept */ };

typedef struct aligner {
    tide_document *document;
    size_t device;
    tide_map alive;    /* address -> event that allocated it */
    uint32_t *blocks;  /* owned; allocations of the device so far, in order */
    size_t n_blocks;   /* of them */
    size_t first;      /* of the blocks, the first after the last graph */
    uint32_t *unknown; /* owned; names without an address since the last result that is kept */
    uint64_t *sizes;   /* owned; their bytes */
    size_t n_unknown;  /* of them */
} aligner;

/* The bytes of "mm [8, 4] float32"; 0: unknown. */
static uint64_t bytes_of(const char *name) {
    const char *at = strchr(name, '[');
    const char *end = at != NULL ? strchr(at, ']') : NULL;
    uint64_t bytes = 1;
    if (end == NULL) {
        return 0;
    }
    for (at++; at < end; at += strspn(at, ", ")) {
        char *next = NULL;
        bytes *= strtoull(at, &next, 10);
        if (next == at) {
            return 0;
        }
        at = next;
    }
    const char *type = end + 1 + strspn(end + 1, " ");
    const char *bits = type + strcspn(type, "0123456789");
    return strcmp(type, "bool") == 0 ? bytes : bytes * (strtoull(bits, NULL, 10) / 8);
}

static uint64_t requested(const aligner *of, uint32_t event) {
    return tide_bytes_at(&of->document->snapshot->events.requested_bytes, event);
}

/* The blocks of a size between two events that have no name: their number, or the n-th's event. */
static size_t count_blocks(const aligner *of, size_t from, size_t to, uint64_t size) {
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t event = of->blocks[i];
        n += of->document->name[event] == TIDE_NONE && requested(of, event) == size;
    }
    return n;
}

static void name_blocks(aligner *of, size_t from, size_t to, uint64_t size) {
    size_t u = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t event = of->blocks[i];
        if (of->document->name[event] == TIDE_NONE && requested(of, event) == size) {
            while (of->sizes[u] != size) {
                u++;
            }
            of->document->name[event] = of->unknown[u++];
        }
    }
}

/* Names the blocks from .. to by the results in between. */
static void take_between(aligner *of, size_t from, size_t to) {
    bool is_short = to - from <= MOST_BETWEEN && of->n_unknown <= MOST_BETWEEN;
    for (size_t u = 0; u < of->n_unknown && is_short; u++) {
        uint64_t size = of->sizes[u];
        size_t n = 0;
        bool is_first = size > 0;
        for (size_t other = 0; other < of->n_unknown; other++) {
            n += of->sizes[other] == size;
            is_first = is_first && (other >= u || of->sizes[other] != size);
        }
        if (is_first && count_blocks(of, from, to, size) == n) {
            name_blocks(of, from, to, size);
        }
    }
    of->n_unknown = 0;
}

/* The index of an event among the blocks; SIZE_MAX: it is not among those since the last graph. */
static size_t index_of(const aligner *of, uint64_t event) {
    size_t low = of->first;
    size_t high = of->n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->blocks[middle] < event) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < of->n_blocks && of->blocks[low] == event ? low : SIZE_MAX;
}

/* Takes the names first .. last - 1 of the process, which one graph gave. */
static tide_status take_graph(aligner *of, size_t first, size_t last) {
    const tide_left *left = of->document->left;
    size_t from = of->first;
    of->n_unknown = 0;
    for (size_t i = first; i < last; i++) {
        const tide_left_name *name = &left->names[i];
        uint64_t event = 0;
        if (name->device != of->device || !tide_document_is_kept(name)) {
            continue;
        }
        if (name->address == 0) {
            TIDE_TRY(tide_document_string(of->document, name->name, &of->unknown[of->n_unknown]));
            of->sizes[of->n_unknown++] = bytes_of(name->name);
            continue;
        }
        size_t at =
            tide_map_find(&of->alive, name->address, &event) ? index_of(of, event) : SIZE_MAX;
        if (at != SIZE_MAX && at >= from) {
            take_between(of, from, at);
            from = at + 1;
        }
    }
    take_between(of, from, of->n_blocks);
    of->first = of->n_blocks;
    return TIDE_OK;
}

/* Rows are counted by device, and the names of devices alternate. */
static void skip_others(const aligner *of, size_t *at) {
    const tide_left *left = of->document->left;
    while (*at < left->n_names && left->names[*at].device != of->device) {
        ++*at;
    }
}

/* Takes the graphs that were read before a row; *at: the first name that was not taken. */
static tide_status take_graphs(aligner *of, int64_t row, size_t *at) {
    const tide_left *left = of->document->left;
    for (;;) {
        skip_others(of, at);
        if (*at == left->n_names || left->names[*at].row > row) {
            return TIDE_OK;
        }
        size_t first = *at;
        bool is_graph = false;
        while (*at < left->n_names && left->names[*at].row == left->names[first].row) {
            is_graph = is_graph || tide_document_is_kept(&left->names[*at]);
            ++*at;
            skip_others(of, at);
        }
        if (is_graph) {
            TIDE_TRY(take_graph(of, first, *at));
        }
    }
}

static tide_status take_events(aligner *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    const tide_event_table *events = &snapshot->events;
    int64_t row = tide_document_first_row(of->document, of->device);
    size_t at = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (events->device[i] != of->device) {
            continue;
        }
        TIDE_TRY(take_graphs(of, row, &at));
        if (events->action[i] == TIDE_ACTION_ALLOC) {
            of->blocks[of->n_blocks++] = (uint32_t)i;
            TIDE_TRY(tide_map_put(&of->alive, events->address[i], i));
        }
        row += tide_document_is_row(events->action[i]);
    }
    return take_graphs(of, INT64_MAX, &at);
}

static bool has_graphs(const tide_left *left, size_t device) {
    bool has_any = false;
    for (size_t i = 0; i < left->n_names && !has_any; i++) {
        has_any = left->names[i].device == device && tide_document_is_kept(&left->names[i]);
    }
    return has_any;
}

tide_status tide_document_align_kept(tide_document *document, size_t device) {
    if (!has_graphs(document->left, device)) {
        return TIDE_OK;
    }
    const tide_snapshot *snapshot = document->snapshot;
    const tide_hostmem *mem = snapshot->arena.mem;
    size_t n_names = document->left->n_names + 1;
    aligner of = {.document = document, .device = device};
    tide_map_init(&of.alive, mem);
    of.blocks = tide_hostmem_zeroed(mem, snapshot->n_events + 1, sizeof(*of.blocks));
    of.unknown = tide_hostmem_zeroed(mem, n_names, sizeof(*of.unknown));
    of.sizes = tide_hostmem_zeroed(mem, n_names, sizeof(*of.sizes));
    tide_status status = of.blocks != NULL && of.unknown != NULL && of.sizes != NULL
                             ? take_events(&of)
                             : TIDE_NO_MEMORY;
    mem->release(mem->ctx, of.sizes);
    mem->release(mem->ctx, of.unknown);
    mem->release(mem->ctx, of.blocks);
    tide_map_fini(&of.alive);
    return status;
}
