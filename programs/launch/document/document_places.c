/* document_places.c - the module and the autograd node that each event belongs to, as scopes within
 * its phase. They are known only at events: such a scope has no interval. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "programs/launch/document/document_internal.h"

enum { CLASS_BYTES = 128 };

/* The module that was being called when a node got that number. */
typedef struct birth {
    uint32_t sequence; /* of the node */
    uint32_t module;   /* string */
} birth;

/* The calls of one thread, with ascending node numbers. */
typedef struct thread_births {
    birth *births; /* owned */
    size_t n;
    size_t capacity;
} thread_births;

typedef struct placer {
    tide_document *document;
    const tide_recover_extra *extras; /* of the events */
    thread_births *threads;           /* owned; by thread */
    size_t n_threads;
    tide_map scope_of;      /* hash of parent, kind and name -> scope */
    tide_scope_row *scopes; /* owned; those of the snapshot first */
    size_t n_scopes;
    size_t capacity;
    size_t n_old;     /* scopes of the snapshot */
    tide_map node_of; /* string of a mangled class -> string of its name */
} placer;

/* ---- modules of nodes ---- */

/* A kernel of the forward pass allocates after its node has got its number: the thread's next
 * number is one more. */
static tide_status add_birth(placer *of, const tide_recover_extra *extra) {
    const tide_hostmem *mem = of->document->snapshot->arena.mem;
    if (extra->node != TIDE_NONE || extra->module == TIDE_NONE || extra->sequence == 0) {
        return TIDE_OK;
    }
    thread_births *to = &of->threads[extra->thread];
    birth one = {extra->sequence - 1, extra->module};
    /* Numbers of a thread never decrease, except for threads beyond the 65535th, which share a
     * row. */
    if (to->n > 0 && to->births[to->n - 1].sequence >= one.sequence) {
        to->births[to->n - 1].module = to->births[to->n - 1].sequence == one.sequence
                                           ? one.module
                                           : to->births[to->n - 1].module;
        return TIDE_OK;
    }
    birth *births = tide_hostmem_grow(mem, to->births, &to->capacity, to->n + 1, sizeof(*births));
    if (births == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->births = births;
    births[to->n++] = one;
    return TIDE_OK;
}

/* The last birth of the thread up to that number; NULL if there is none. */
static const birth *find_birth(const thread_births *of, uint32_t sequence) {
    size_t low = 0;
    size_t high = of->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->births[middle].sequence <= sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? &of->births[low - 1] : NULL;
}

/* The module whose call made the node: the birth with that number, or else the one before. */
static uint32_t module_of_node(const placer *of, uint32_t sequence) {
    const birth *found = NULL;
    for (size_t i = 0; i < of->n_threads && sequence != UINT32_MAX; i++) {
        const birth *one = find_birth(&of->threads[i], sequence);
        found = one != NULL && (found == NULL || one->sequence > found->sequence) ? one : found;
    }
    return found != NULL ? found->module : TIDE_NONE;
}

/* ---- names of nodes ---- */

/* "N5torch8autograd9generated14AddmmBackward0E" -> "AddmmBackward0": the last part of a nested
 * name. Other texts are unchanged. */
static void read_class(const char *mangled, char ret_name[CLASS_BYTES]) {
    const char *at = *mangled == 'N' ? mangled + 1 : mangled;
    const char *last = NULL;
    size_t n_last = 0;
    while (isdigit((unsigned char)*at)) {
        char *end = NULL;
        unsigned long n = strtoul(at, &end, 10);
        if (n == 0 || n > strlen(end)) {
            break;
        }
        last = end;
        n_last = n;
        at = end + n;
    }
    last = last != NULL ? last : mangled;
    n_last = n_last > 0 ? n_last : strlen(mangled);
    n_last = n_last < CLASS_BYTES ? n_last : CLASS_BYTES - 1;
    memcpy(ret_name, last, n_last);
    ret_name[n_last] = '\0';
}

static tide_status name_node(placer *of, uint32_t mangled, uint32_t *ret_string) {
    char name[CLASS_BYTES];
    uint64_t known = 0;
    if (tide_map_find(&of->node_of, mangled, &known)) {
        *ret_string = (uint32_t)known;
        return TIDE_OK;
    }
    read_class(tide_snapshot_text(of->document->snapshot, mangled), name);
    TIDE_TRY(tide_document_string(of->document, name, ret_string));
    return tide_map_put(&of->node_of, mangled, *ret_string);
}

/* ---- scopes ---- */

typedef struct scope_question {
    const placer *of;
    uint32_t parent, name;
    uint8_t kind;
} scope_question;

static bool is_scope(const void *ctx, uint64_t number) {
    const scope_question *question = ctx;
    const tide_scope_row *row = &question->of->scopes[number];
    return row->parent == question->parent && row->name == question->name &&
           row->kind == question->kind;
}

/* Finds the scope of that name within the parent, or creates it at its first event. */
static tide_status enter(placer *of, uint32_t parent, uint8_t kind, uint32_t name, int64_t time_ns,
                         uint32_t *ret_scope) {
    const tide_hostmem *mem = of->document->snapshot->arena.mem;
    scope_question question = {.of = of, .parent = parent, .name = name, .kind = kind};
    uint64_t hash = tide_hash_u64(tide_hash_u64((uint64_t)parent << 32 | name) + kind);
    uint64_t key = 0;
    uint64_t found = 0;
    if (tide_map_find_equal(&of->scope_of, hash, is_scope, &question, &key, &found)) {
        *ret_scope = (uint32_t)found;
        return TIDE_OK;
    }
    tide_scope_row *scopes =
        tide_hostmem_grow(mem, of->scopes, &of->capacity, of->n_scopes + 1, sizeof(*scopes));
    if (scopes == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->scopes = scopes;
    scopes[of->n_scopes] = (tide_scope_row){.begin_ns = time_ns,
                                            .duration_ns = TIDE_SCOPE_NO_INTERVAL,
                                            .device_begin_ns = -1,
                                            .device_duration_ns = -1,
                                            .parent = parent,
                                            .name = name,
                                            .index = -1,
                                            .kind = kind};
    *ret_scope = (uint32_t)of->n_scopes++;
    return tide_map_put(&of->scope_of, key, *ret_scope);
}

static tide_status place(placer *of, size_t i) {
    int64_t time_ns = of->document->snapshot->events.time_ns[i];
    uint32_t *scope = &of->document->scope[i];
    const tide_recover_extra *extra = &of->extras[i];
    uint32_t module = extra->node != TIDE_NONE && extra->module == TIDE_NONE
                          ? module_of_node(of, extra->sequence)
                          : extra->module;
    if (module != TIDE_NONE) {
        TIDE_TRY(enter(of, *scope, TIDE_SCOPE_LAYER, module, time_ns, scope));
    }
    if (extra->node != TIDE_NONE) {
        uint32_t name = 0;
        TIDE_TRY(name_node(of, extra->node, &name));
        TIDE_TRY(enter(of, *scope, TIDE_SCOPE_OPERATOR, name, time_ns, scope));
    }
    return add_birth(of, extra);
}

/* Merges the new scopes, which are ordered by their begins, into the old ones. */
static tide_status merge(const placer *of) {
    tide_snapshot *snapshot = of->document->snapshot;
    tide_scope_row *rows = tide_arena_alloc(&snapshot->arena, of->n_scopes, sizeof(*rows));
    uint32_t *new_of = tide_arena_alloc(&snapshot->arena, of->n_scopes, sizeof(*new_of));
    size_t old = 0;
    size_t made = of->n_old;
    if (rows == NULL || new_of == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t n = 0; n < of->n_scopes; n++) {
        bool takes_old = made == of->n_scopes ||
                         (old < of->n_old && of->scopes[old].begin_ns <= of->scopes[made].begin_ns);
        size_t from = takes_old ? old++ : made++;
        rows[n] = of->scopes[from];
        rows[n].parent = rows[n].parent != TIDE_NONE ? new_of[rows[n].parent] : TIDE_NONE;
        new_of[from] = (uint32_t)n;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        uint32_t *scope = &of->document->scope[i];
        *scope = *scope != TIDE_NONE ? new_of[*scope] : TIDE_NONE;
    }
    snapshot->scopes = rows;
    snapshot->n_scopes = of->n_scopes;
    return TIDE_OK;
}

static tide_status prepare(placer *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    const tide_hostmem *mem = snapshot->arena.mem;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        size_t thread = of->extras[i].thread;
        of->n_threads = thread >= of->n_threads ? thread + 1 : of->n_threads;
    }
    of->threads = tide_hostmem_zeroed(mem, of->n_threads + 1, sizeof(*of->threads));
    of->scopes =
        tide_hostmem_grow(mem, NULL, &of->capacity, snapshot->n_scopes + 1, sizeof(*of->scopes));
    if (of->threads == NULL || of->scopes == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (snapshot->n_scopes > 0) {
        memcpy(of->scopes, snapshot->scopes, snapshot->n_scopes * sizeof(*of->scopes));
    }
    of->n_old = snapshot->n_scopes;
    of->n_scopes = snapshot->n_scopes;
    return TIDE_OK;
}

tide_status tide_document_add_places(tide_document *document, const tide_recover_extra *extras) {
    const tide_hostmem *mem = document->snapshot->arena.mem;
    placer of = {.document = document, .extras = extras};
    tide_map_init(&of.scope_of, mem);
    tide_map_init(&of.node_of, mem);
    tide_status status = prepare(&of);
    for (size_t i = 0; status == TIDE_OK && i < document->snapshot->n_events; i++) {
        status = place(&of, i);
    }
    if (status == TIDE_OK) {
        status = merge(&of);
    }
    for (size_t i = 0; of.threads != NULL && i < of.n_threads; i++) {
        mem->release(mem->ctx, of.threads[i].births);
    }
    mem->release(mem->ctx, of.threads);
    mem->release(mem->ctx, of.scopes);
    tide_map_fini(&of.scope_of);
    tide_map_fini(&of.node_of);
    return status;
}
