/* Merges the rows of all devices by time, and makes the scopes that they belong to from named
 * intervals and from the metadata of events.
 *
 * Rows of one device keep their order even if their times decrease, because their order is right
 * and their times may be wrong: the time of a device at a row is the highest so far.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/pytorch/internal.h"

enum { MAX_OPEN = 1024 }; /* nested intervals that are tracked; those beyond begin and never end */
#define MAX_TIME_US (INT64_MAX / 1000)

/* Begin or end of an interval. */
typedef struct edge {
    int64_t time_us;
    size_t order;    /* in the file */
    uint32_t name;   /* string */
    uint16_t device; /* index */
    bool begins;
} edge;

/* The state of the merge for one device. */
typedef struct lane {
    size_t at;                /* next row */
    int64_t time_us;          /* highest so far */
    bool any;                 /* the members below are valid */
    uint32_t base;            /* interval of the last row, TIDE_NONE */
    tide_pytorch_extra texts; /* of the last row */
    uint32_t compile;         /* scope of its compile_context, TIDE_NONE */
    uint32_t metadata;        /* scope of its metadata, TIDE_NONE */
} lane;

typedef struct merger {
    tide_pytorch_import *in; /* borrowed */
    edge *edges;             /* in scratch; by time */
    size_t n_edges;
    size_t at;              /* next edge */
    lane *lanes;            /* in scratch; one per device */
    int64_t zero_us;        /* time 0 of the document */
    tide_scope_row *scopes; /* owned */
    size_t n_scopes;
    size_t scope_capacity;
    uint32_t open[MAX_OPEN]; /* intervals, the innermost last */
    size_t n_open;
    tide_map prefixed; /* string | kind << 32 -> the string with its prefix */
} merger;

/* ---- reading ---- */

enum { KEY_STAGE = 0, KEY_NAME, KEY_DEVICE, KEY_TIME, N_KEYS };

static const tide_pytorch_key KEYS[N_KEYS] = {TIDE_PYTORCH_KEY("stage"), TIDE_PYTORCH_KEY("name"),
                                              TIDE_PYTORCH_KEY("device"),
                                              TIDE_PYTORCH_KEY("time_us")};

/* Whether the entry can be used. Without a stage and a time its meaning is unknown, and it is left
 * out. */
static bool is_edge(tide_pytorch_import *in, const tide_pickle_value *values,
                    const tide_pytorch_place *dict, int64_t *ret_time_us) {
    const tide_pickle *pickle = in->pickle;
    const char *odd = NULL;
    *ret_time_us = -1;
    if (tide_pickle_kind_of(pickle, values[KEY_TIME]) == TIDE_PICKLE_INTEGER) {
        *ret_time_us = tide_pickle_integer(pickle, values[KEY_TIME]);
    }
    if (!tide_pytorch_is(in, values[KEY_STAGE], "START") &&
        !tide_pytorch_is(in, values[KEY_STAGE], "END")) {
        odd = "stage";
    } else if (tide_pickle_kind_of(pickle, values[KEY_NAME]) != TIDE_PICKLE_TEXT) {
        odd = "name";
    } else if (*ret_time_us < 0 || *ret_time_us > MAX_TIME_US) {
        odd = "time_us";
    }
    if (odd != NULL) {
        tide_pytorch_place at = {.up = dict, .key = odd};
        tide_pytorch_odd(in, &at);
    }
    return odd == NULL;
}

static tide_status read_edge(tide_pytorch_import *in, tide_pickle_value value,
                             tide_pytorch_place *at, edge *ret_edge, bool *ret_is_edge) {
    tide_pickle_value values[N_KEYS];
    int64_t device = 0;
    *ret_is_edge = false;
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_DICT) {
        tide_pytorch_odd(in, at);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_dict(in, value, at, KEYS, N_KEYS, values));
    *ret_is_edge = is_edge(in, values, at, &ret_edge->time_us);
    if (!*ret_is_edge) {
        return TIDE_OK;
    }
    ret_edge->begins = tide_pytorch_is(in, values[KEY_STAGE], "START");
    tide_pytorch_place name = {.up = at, .key = "name"};
    TIDE_TRY(tide_pytorch_string(in, values[KEY_NAME], &name, &ret_edge->name));
    if (values[KEY_DEVICE] != 0) {
        tide_pytorch_place place = {.up = at, .key = "device"};
        device = tide_pytorch_odd_integer(in, values[KEY_DEVICE], &place, -1,
                                          TIDE_PYTORCH_MAX_DEVICES - 1, 0);
    }
    ret_edge->device = (uint16_t)(device < 0 ? 0 : device);
    return TIDE_OK;
}

static int compare_edges(const void *a, const void *b) {
    const edge *left = a;
    const edge *right = b;
    if (left->time_us != right->time_us) {
        return left->time_us < right->time_us ? -1 : 1;
    }
    return (left->order > right->order) - (left->order < right->order);
}

static tide_status read_edges(merger *m, tide_pickle_value value) {
    const tide_pickle_container *list = NULL;
    tide_pytorch_place at = {.key = "external_annotations"};
    if (value == 0 || tide_pickle_kind_of(m->in->pickle, value) == TIDE_PICKLE_NONE) {
        return TIDE_OK; /* old files have none */
    }
    if (tide_pickle_kind_of(m->in->pickle, value) != TIDE_PICKLE_LIST &&
        tide_pickle_kind_of(m->in->pickle, value) != TIDE_PICKLE_TUPLE) {
        tide_pytorch_odd(m->in, &at);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_list(m->in, value, &at, &list));
    TIDE_TRY(tide_pytorch_count(m->in, list->n_items, &at));
    m->edges = tide_arena_alloc(&m->in->scratch, list->n_items, sizeof(*m->edges));
    if (m->edges == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n_edges = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        tide_pytorch_place item = {.up = &at, .index = i};
        bool is_one = false;
        m->edges[n_edges].order = i;
        TIDE_TRY(read_edge(m->in, list->items[i], &item, &m->edges[n_edges], &is_one));
        n_edges += is_one;
    }
    /* Events without times cannot be placed in intervals. */
    m->n_edges = m->in->has_times || m->in->n_events == 0 ? n_edges : 0;
    if (m->n_edges > 0) {
        qsort(m->edges, m->n_edges, sizeof(*m->edges), compare_edges);
    }
    return TIDE_OK;
}

/* ---- scopes ---- */

static int64_t since_zero_ns(const merger *m, int64_t time_us) {
    return (time_us - m->zero_us) * 1000;
}

static tide_status add_scope(merger *m, tide_scope_row row, uint32_t *ret_scope) {
    tide_scope_row *scopes = tide_hostmem_grow(m->in->mem, m->scopes, &m->scope_capacity,
                                               m->n_scopes + 1, sizeof(*scopes));
    if (scopes == NULL) {
        return TIDE_NO_MEMORY;
    }
    row.device_begin_ns = -1;
    row.device_duration_ns = -1;
    row.index = -1;
    row.kind = TIDE_SCOPE_USER;
    m->scopes = scopes;
    *ret_scope = (uint32_t)m->n_scopes;
    scopes[m->n_scopes++] = row;
    return TIDE_OK;
}

static tide_status begin_interval(merger *m, const edge *at) {
    uint32_t parent = TIDE_NONE;
    for (size_t i = m->n_open; i > 0 && parent == TIDE_NONE; i--) {
        parent = m->scopes[m->open[i - 1]].thread == at->device ? m->open[i - 1] : TIDE_NONE;
    }
    uint32_t scope = 0;
    TIDE_TRY(add_scope(m,
                       (tide_scope_row){.begin_ns = since_zero_ns(m, at->time_us),
                                        .duration_ns = -1,
                                        .parent = parent,
                                        .name = at->name,
                                        .thread = at->device},
                       &scope));
    if (m->n_open < MAX_OPEN) {
        m->open[m->n_open++] = scope;
    }
    return TIDE_OK;
}

/* An end whose begin is not in the file is ignored. */
static void end_interval(merger *m, const edge *at) {
    for (size_t i = m->n_open; i > 0; i--) {
        tide_scope_row *scope = &m->scopes[m->open[i - 1]];
        if (scope->name == at->name && scope->thread == at->device) {
            scope->duration_ns = since_zero_ns(m, at->time_us) - scope->begin_ns;
            memmove(&m->open[i - 1], &m->open[i], (m->n_open - i) * sizeof(*m->open));
            m->n_open--;
            return;
        }
    }
}

/* Begins and ends intervals up to a row at time_us. At exactly that time, intervals begin but do
 * not end yet. */
static tide_status advance(merger *m, int64_t time_us) {
    while (m->at < m->n_edges && (m->edges[m->at].time_us < time_us ||
                                  (m->edges[m->at].time_us == time_us && m->edges[m->at].begins))) {
        const edge *at = &m->edges[m->at++];
        if (at->begins) {
            TIDE_TRY(begin_interval(m, at));
        } else {
            end_interval(m, at);
        }
    }
    return TIDE_OK;
}

/* PREFIX and the text, as a string. */
static tide_status with_prefix(merger *m, const char *prefix, uint32_t string,
                               uint32_t *ret_string) {
    uint64_t key = (uint64_t)prefix[0] << 32 | string;
    uint64_t known = 0;
    if (tide_map_find(&m->prefixed, key, &known)) {
        *ret_string = (uint32_t)known;
        return TIDE_OK;
    }
    const char *text = tide_strings_text(&m->in->strings, string);
    size_t n_prefix = strlen(prefix);
    size_t n_text = strlen(text);
    char *both = tide_hostmem_grow(m->in->mem, m->in->buffer, &m->in->buffer_capacity,
                                   n_prefix + n_text + 1, 1);
    if (both == NULL) {
        return TIDE_NO_MEMORY;
    }
    m->in->buffer = both;
    snprintf(both, n_prefix + n_text + 1, "%s%s", prefix, text);
    TIDE_TRY(tide_strings_intern(&m->in->strings, both, ret_string));
    return tide_map_put(&m->prefixed, key, *ret_string);
}

/* A scope for consecutive rows with the same text; TIDE_NONE if there is no text. */
static tide_status begin_text(merger *m, const lane *on, size_t device, const char *prefix,
                              uint32_t text, uint32_t parent, uint32_t *ret_scope) {
    uint32_t name = TIDE_NONE;
    if (text == TIDE_NONE) {
        *ret_scope = TIDE_NONE;
        return TIDE_OK;
    }
    TIDE_TRY(with_prefix(m, prefix, text, &name));
    return add_scope(
        m,
        (tide_scope_row){.begin_ns = since_zero_ns(m, on->time_us),
                         .parent = parent,
                         .name = name,
                         .thread =
                             (uint16_t)(parent != TIDE_NONE ? m->scopes[parent].thread : device)},
        ret_scope);
}

static void stretch(merger *m, uint32_t scope, int64_t time_us) {
    if (scope != TIDE_NONE) {
        m->scopes[scope].duration_ns = since_zero_ns(m, time_us) - m->scopes[scope].begin_ns;
    }
}

/* The scope of the lane's next row. */
static tide_status find_scope(merger *m, lane *on, size_t device, uint32_t *ret_scope) {
    const tide_pytorch_extra *texts = &m->in->extras[on->at];
    uint32_t base = m->n_open > 0 ? m->open[m->n_open - 1] : TIDE_NONE;
    bool other_base = !on->any || base != on->base || texts->compile != on->texts.compile;
    if (other_base) {
        TIDE_TRY(
            begin_text(m, on, device, TIDE_PYTORCH_COMPILE, texts->compile, base, &on->compile));
    }
    uint32_t inner = on->compile != TIDE_NONE ? on->compile : base;
    if (other_base || texts->metadata != on->texts.metadata) {
        TIDE_TRY(begin_text(m, on, device, TIDE_PYTORCH_METADATA, texts->metadata, inner,
                            &on->metadata));
    }
    stretch(m, on->compile, on->time_us);
    stretch(m, on->metadata, on->time_us);
    on->any = true;
    on->base = base;
    on->texts = *texts;
    *ret_scope = on->metadata != TIDE_NONE ? on->metadata : inner;
    return TIDE_OK;
}

/* ---- merging ---- */

static int64_t time_of_next(const merger *m, const lane *on) {
    int64_t time_us = m->in->rows[on->at].time_ns;
    return time_us > on->time_us ? time_us : on->time_us;
}

/* The device whose next row comes first, the lowest on ties; n_devices: no rows remain. */
static size_t next_lane(const merger *m) {
    size_t found = m->in->n_devices;
    int64_t earliest_us = 0;
    for (size_t i = 0; i < m->in->n_devices; i++) {
        if (m->lanes[i].at == m->in->first_row[i + 1]) {
            continue;
        }
        int64_t time_us = time_of_next(m, &m->lanes[i]);
        if (found == m->in->n_devices || time_us < earliest_us) {
            found = i;
            earliest_us = time_us;
        }
    }
    return found;
}

static void find_zero(merger *m) {
    size_t n_rows = m->in->first_row[m->in->n_devices];
    int64_t zero_us = INT64_MAX;
    for (size_t i = 0; i < n_rows; i++) {
        zero_us = m->in->rows[i].time_ns < zero_us ? m->in->rows[i].time_ns : zero_us;
    }
    if (m->n_edges > 0 && m->edges[0].time_us < zero_us) {
        zero_us = m->edges[0].time_us;
    }
    m->zero_us = zero_us == INT64_MAX ? 0 : zero_us;
}

/* Rows of a single device are already in order. */
static bool has_one_lane(const merger *m) {
    size_t n_lanes = 0;
    for (size_t i = 0; i < m->in->n_devices; i++) {
        n_lanes += m->in->first_row[i] < m->in->first_row[i + 1];
    }
    return n_lanes <= 1;
}

/* Sets the scopes and times of all rows and copies the rows into `events` in order. `events` may be
 * the rows themselves if only one device has rows. */
static tide_status merge_into(merger *m, tide_event *events, size_t n_rows) {
    for (size_t n = 0; n < n_rows; n++) {
        size_t device = next_lane(m);
        lane *on = &m->lanes[device];
        tide_event *row = &m->in->rows[on->at];
        on->time_us = time_of_next(m, on);
        TIDE_TRY(advance(m, on->time_us));
        TIDE_TRY(find_scope(m, on, device, &row->scope));
        row->time_ns = since_zero_ns(m, row->time_ns);
        events[n] = *row;
        on->at++;
    }
    return advance(m, INT64_MAX);
}

static tide_status merge_rows(merger *m) {
    tide_snapshot *snapshot = m->in->snapshot;
    const tide_hostmem *mem = m->in->mem;
    size_t n_rows = m->in->first_row[m->in->n_devices];
    tide_event *copies = NULL;
    if (!has_one_lane(m)) {
        copies = mem->alloc(mem->ctx, n_rows * sizeof(*copies)); /* in->rows has the same size */
        if (copies == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    tide_event *events = copies != NULL ? copies : m->in->rows;
    tide_status status = merge_into(m, events, n_rows);
    if (status == TIDE_OK) {
        status = tide_event_table_from_rows(&snapshot->arena, events, n_rows, &snapshot->events);
    }
    snapshot->n_events = status == TIDE_OK ? n_rows : 0;
    mem->release(mem->ctx, copies);
    return status;
}

static tide_status merge_all(merger *m) {
    tide_snapshot *snapshot = m->in->snapshot;
    for (size_t i = 0; i < m->in->n_devices; i++) {
        m->lanes[i] = (lane){.at = m->in->first_row[i]};
    }
    find_zero(m);
    TIDE_TRY(merge_rows(m));
    tide_scope_row *scopes = tide_arena_alloc(&snapshot->arena, m->n_scopes, sizeof(*scopes));
    if (scopes == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (m->n_scopes > 0) {
        memcpy(scopes, m->scopes, m->n_scopes * sizeof(*scopes));
    }
    snapshot->scopes = scopes;
    snapshot->n_scopes = m->n_scopes;
    if (m->in->has_times) {
        snapshot->run.started_unix_us = m->zero_us;
    }
    return TIDE_OK;
}

tide_status tide_pytorch_merge(tide_pytorch_import *in, tide_pickle_value annotations) {
    merger *m = tide_arena_alloc(&in->scratch, 1, sizeof(*m));
    if (m == NULL) {
        return TIDE_NO_MEMORY;
    }
    m->in = in;
    tide_map_init(&m->prefixed, in->mem);
    m->lanes = tide_arena_alloc(&in->scratch, in->n_devices, sizeof(*m->lanes));
    tide_status status = m->lanes != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status == TIDE_OK) {
        status = read_edges(m, annotations);
    }
    if (status == TIDE_OK) {
        status = merge_all(m);
    }
    tide_map_fini(&m->prefixed);
    in->mem->release(in->mem->ctx, m->scopes);
    return status;
}
