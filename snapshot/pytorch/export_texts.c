/* The texts of events, intervals and settings in an exported file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/pytorch/export_internal.h"
#include "snapshot/pytorch/internal.h"

enum { N_INTERVALS = 16, INDEX_TEXT = 16, PATH_BYTES = 1024 };

/* Between the scopes of a path. */
#define BETWEEN " > "

/* ---- texts of events ---- */

/* Joins both texts with `between`, in scratch; "" without memory. */
static const char *join(tide_pytorch_export_state *out, const char *first, const char *between,
                        const char *second) {
    size_t n_bytes = strlen(first) + strlen(between) + strlen(second) + 1;
    char *text =
        tide_hostmem_grow(out->scratch.mem, out->buffer, &out->buffer_capacity, n_bytes, 1);
    if (text == NULL) {
        out->status = TIDE_NO_MEMORY;
        return "";
    }
    out->buffer = text;
    snprintf(text, n_bytes, "%s%s%s", first, between, second);
    return text;
}

/* In a file from PyTorch: the text after PREFIX in the name of the innermost scope that has this
 * prefix; NULL if there is none. */
static const char *text_behind(const tide_pytorch_export_state *out, uint32_t scope,
                               const char *prefix) {
    size_t n_prefix = strlen(prefix);
    for (; scope != TIDE_NONE; scope = out->snapshot->scopes[scope].parent) {
        const char *name = tide_snapshot_text(out->snapshot, out->snapshot->scopes[scope].name);
        if (strncmp(name, prefix, n_prefix) == 0) {
            return name + n_prefix;
        }
    }
    return NULL;
}

/* Writes "layer 3" before *at, without its beginning if there is no room, and moves *at to its
 * start. */
static void prepend(char *path, size_t *at, const char *between, const char *name, int32_t index) {
    char number[INDEX_TEXT] = "";
    if (index >= 0) {
        snprintf(number, sizeof(number), " %d", (int)index);
    }
    const char *const parts[] = {between, number, name};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t n_bytes = strlen(parts[i]);
        *at -= n_bytes;
        memcpy(path + *at, parts[i], n_bytes);
    }
}

/* "step 0 > forward > layer 3", made once per scope; "" outside every scope. If there is no room,
 * the outer scopes are left out, because the inner ones are more specific. */
static const char *path_of(tide_pytorch_export_state *out, uint32_t scope) {
    if (scope == TIDE_NONE) {
        return "";
    }
    if (out->texts[scope] != NULL) {
        return out->texts[scope];
    }
    char path[PATH_BYTES];
    size_t at = sizeof(path) - 1;
    path[at] = '\0';
    for (uint32_t i = scope; i != TIDE_NONE; i = out->snapshot->scopes[i].parent) {
        const tide_scope_row *row = &out->snapshot->scopes[i];
        const char *name = tide_snapshot_text(out->snapshot, row->name);
        if (strlen(name) + INDEX_TEXT + sizeof(BETWEEN) > at) {
            break;
        }
        prepend(path, &at, i == scope ? "" : BETWEEN, name, row->index);
    }
    const char *text = tide_arena_text(&out->scratch, path + at);
    if (text == NULL) {
        out->status = TIDE_NO_MEMORY;
        return "";
    }
    out->texts[scope] = text;
    return text;
}

const char *tide_export_metadata(tide_pytorch_export_state *out, const tide_event *row) {
    const char *name = tide_snapshot_text(out->snapshot, row->name);
    const char *rest = "";
    if (out->is_foreign) {
        const char *text = text_behind(out, row->scope, TIDE_PYTORCH_METADATA);
        rest = text != NULL ? text : "";
    } else {
        rest = path_of(out, row->scope);
    }
    return name[0] != '\0' ? join(out, name, TIDE_PYTORCH_AT, rest) : rest;
}

const char *tide_export_compile(tide_pytorch_export_state *out, const tide_event *row) {
    const char *text = out->is_foreign ? text_behind(out, row->scope, TIDE_PYTORCH_COMPILE) : NULL;
    return text != NULL ? text : "N/A";
}

/* ---- intervals ---- */

static bool is_interval(const tide_pytorch_export_state *out, const tide_scope_row *row) {
    const char *name = tide_snapshot_text(out->snapshot, row->name);
    return row->kind == TIDE_SCOPE_USER &&
           strncmp(name, TIDE_PYTORCH_METADATA, strlen(TIDE_PYTORCH_METADATA)) != 0 &&
           strncmp(name, TIDE_PYTORCH_COMPILE, strlen(TIDE_PYTORCH_COMPILE)) != 0;
}

/* Begin or end of an interval. */
typedef struct edge {
    int64_t time_ns;
    uint32_t scope;
    bool begins;
} edge;

/* By time. At the same time inner intervals end first and outer ones begin first, so that intervals
 * stay nested, and an interval of length 0 ends after it begins. */
static int compare_edges(const void *a, const void *b) {
    const edge *left = a;
    const edge *right = b;
    if (left->time_ns != right->time_ns) {
        return left->time_ns < right->time_ns ? -1 : 1;
    }
    if (left->begins != right->begins) {
        return left->begins ? -1 : 1;
    }
    int order = (left->scope > right->scope) - (left->scope < right->scope);
    return left->begins ? order : -order;
}

static void write_edge(tide_pytorch_export_state *out, const edge *at) {
    const tide_scope_row *row = &out->snapshot->scopes[at->scope];
    tide_pytorch_sink *to = &out->to;
    tide_sink_begin_dict(to);
    tide_sink_key_text(to, "stage", at->begins ? "START" : "END");
    tide_sink_key_text(to, "name", tide_snapshot_text(out->snapshot, row->name));
    tide_sink_key_integer(to, "device", row->thread);
    tide_sink_key_integer(to, "time_us", tide_export_time_us(out, at->time_ns));
    tide_sink_end_dict(to);
}

void tide_export_annotations(tide_pytorch_export_state *out) {
    const tide_snapshot *snapshot = out->snapshot;
    edge *edges = tide_arena_alloc(&out->scratch, 2 * snapshot->n_scopes, sizeof(*edges));
    size_t n = 0;
    if (edges == NULL) {
        out->status = TIDE_NO_MEMORY;
        return;
    }
    for (size_t i = 0; out->is_foreign && out->has_times && i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        if (!is_interval(out, row) || row->duration_ns == TIDE_SCOPE_NO_INTERVAL) {
            continue;
        }
        edges[n++] = (edge){row->begin_ns, (uint32_t)i, true};
        if (row->duration_ns >= 0) {
            edges[n++] = (edge){row->begin_ns + row->duration_ns, (uint32_t)i, false};
        }
    }
    if (n > 0) {
        qsort(edges, n, sizeof(*edges), compare_edges);
    }
    tide_sink_key(&out->to, "external_annotations");
    tide_sink_begin_list(&out->to);
    for (size_t i = 0; i < n; i++) {
        write_edge(out, &edges[i]);
    }
    tide_sink_end_list(&out->to);
}

/* ---- settings ---- */

/* {"1": 0, "2": 4, ...} from one number for all, or from "[1:0,2:4,...]". */
static void write_divisions(tide_pytorch_export_state *out, const tide_snapshot_setting *setting) {
    tide_pytorch_sink *to = &out->to;
    const char *at = setting->text != NULL ? strchr(setting->text, ':') : NULL;
    tide_sink_begin_dict(to);
    for (size_t i = 0; i < N_INTERVALS; i++) {
        char name[INDEX_TEXT];
        int64_t value = setting->text == NULL ? (int64_t)setting->number : 0;
        snprintf(name, sizeof(name), "%u", 1U << i);
        if (at != NULL) {
            value = strtoll(at + 1, NULL, 10);
            at = strchr(at + 1, ':');
        }
        tide_sink_key_integer(to, name, value);
    }
    tide_sink_end_dict(to);
}

static bool is_among(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void write_setting(tide_pytorch_export_state *out, const tide_snapshot_setting *setting) {
    static const char *const BOOLEANS[] = {
        "expandable_segments", "release_lock_on_cudamalloc", "pinned_use_cuda_host_register",
        "graph_capture_record_stream_reuse", "trace_alloc_overflowed"};
    static const char *const REALS[] = {"garbage_collection_threshold",
                                        "per_process_memory_fraction"};
    tide_pytorch_sink *to = &out->to;
    tide_sink_key(to, setting->name);
    if (strcmp(setting->name, "roundup_power2_divisions") == 0) {
        write_divisions(out, setting);
    } else if (setting->text != NULL) {
        tide_sink_text(to, setting->text);
    } else if (is_among(BOOLEANS, sizeof(BOOLEANS) / sizeof(BOOLEANS[0]), setting->name)) {
        tide_sink_boolean(to, setting->number > 0.0);
    } else if (is_among(REALS, sizeof(REALS) / sizeof(REALS[0]), setting->name) ||
               setting->number != floor(setting->number) || fabs(setting->number) > 0x1p53) {
        tide_sink_real(to, setting->number);
    } else {
        tide_sink_integer(to, (int64_t)setting->number);
    }
}

void tide_export_settings(tide_pytorch_export_state *out) {
    tide_sink_key(&out->to, "allocator_settings");
    tide_sink_begin_dict(&out->to);
    for (size_t i = 0; i < out->snapshot->n_settings; i++) {
        write_setting(out, &out->snapshot->settings[i]);
    }
    tide_sink_end_dict(&out->to);
}
