/* The recording in the trace event format, for ui.perfetto.dev and chrome://tracing: process 1 is
 * the host with a lane of scopes per thread, process 2 + D is device D with its counters, its
 * instant events, and the scopes by the device's own clock. */
#include <stdio.h>
#include <string.h>

#include "snapshot/export/export_friend.h"
#include "snapshot/format/json_writer.h"

enum { HOST_PROCESS = 1, FIRST_DEVICE = 2, N_THREADS = 65536, NAME_BYTES = 256 };

/* The state of one export. */
typedef struct exporting {
    const tide_snapshot *snapshot; /* borrowed */
    tide_json_writer *json;        /* owned */
    tide_export_series series;
    int64_t *peaks;   /* owned; per device, the event of its peak, -1: before the first */
    uint32_t *within; /* owned; per scope, the scope that was open in its lane when it began */
    uint32_t *open;   /* owned; per thread, the innermost open scope of its lane */
    int64_t *last_ns; /* owned; per thread, the time of the last event in its lane */
    int64_t *end_ns;  /* owned; per scope, its end in its lane */
    bool has_clock;   /* false: rows have no times and are shown a microsecond apart */
    int64_t until_ns; /* end of scopes that are still open */
} exporting;

static int64_t time_of(const exporting *e, size_t row) {
    return e->has_clock ? e->snapshot->events.time_ns[row] : (int64_t)(row + 1) * 1000;
}

/* ---- events of the format ---- */

static void begin_event(tide_json_writer *json, const char *phase, int64_t process, int64_t thread,
                        int64_t time_ns) {
    tide_json_line(json);
    tide_json_begin_object(json);
    tide_json_key_text(json, "ph", phase);
    tide_json_key_integer(json, "pid", process);
    tide_json_key_integer(json, "tid", thread);
    tide_json_key_real(json, "ts", (double)time_ns / 1000.0); /* microseconds */
}

static void name_part(tide_json_writer *json, const char *what, int64_t process, int64_t thread,
                      const char *name) {
    begin_event(json, "M", process, thread, 0);
    tide_json_key_text(json, "name", what);
    tide_json_key(json, "args");
    tide_json_begin_object(json);
    tide_json_key_text(json, "name", name);
    tide_json_end_object(json);
    tide_json_end_object(json);
}

static void count(tide_json_writer *json, const char *name, int64_t process, int64_t time_ns,
                  int64_t n_bytes) {
    begin_event(json, "C", process, 0, time_ns);
    tide_json_key_text(json, "name", name);
    tide_json_key(json, "args");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "bytes", n_bytes);
    tide_json_end_object(json);
    tide_json_end_object(json);
}

static void begin_instant(tide_json_writer *json, const char *name, int64_t process,
                          int64_t time_ns) {
    begin_event(json, "i", process, 0, time_ns);
    tide_json_key_text(json, "name", name);
    tide_json_key_text(json, "s", "p"); /* across the whole process */
    tide_json_key(json, "args");
    tide_json_begin_object(json);
}

static void end_instant(tide_json_writer *json) {
    tide_json_end_object(json);
    tide_json_end_object(json);
}

/* ---- names ---- */

static void name_device(const exporting *e, size_t device) {
    const tide_snapshot_device *of = &e->snapshot->devices[device];
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "device %zu: %.16s %.200s", device, of->kind, of->name);
    name_part(e->json, "process_name", FIRST_DEVICE + (int64_t)device, 0, name);
}

/* Whether a scope can be drawn by the device's times (is_device), or by the host's. */
static bool has_place(const tide_scope_row *row, bool is_device) {
    return is_device ? row->device_begin_ns >= 0 : row->duration_ns != TIDE_SCOPE_NO_INTERVAL;
}

static void name_threads(const exporting *e, int64_t process, bool is_device) {
    const tide_snapshot *snapshot = e->snapshot;
    for (size_t i = 0; i < N_THREADS; i++) {
        e->open[i] = TIDE_NONE;
    }
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *scope = &snapshot->scopes[i];
        char name[NAME_BYTES];
        if (e->open[scope->thread] != TIDE_NONE || !has_place(scope, is_device)) {
            continue;
        }
        e->open[scope->thread] = 0;
        (void)snprintf(name, sizeof(name), is_device ? "scopes of thread %u" : "thread %u",
                       (unsigned)scope->thread);
        name_part(e->json, "thread_name", process, (int64_t)scope->thread + 1, name);
    }
}

/* ---- scopes ---- */

/* One lane of each thread: by the host's clock, or by the device's. */
typedef struct lane {
    exporting *e;
    int64_t process; /* number in the format */
    bool is_device;
} lane;

static void end_slice(const lane *of, uint16_t thread) {
    exporting *e = of->e;
    uint32_t scope = e->open[thread];
    int64_t time_ns = e->end_ns[scope] > e->last_ns[thread] ? e->end_ns[scope] : e->last_ns[thread];
    begin_event(e->json, "E", of->process, (int64_t)thread + 1, time_ns);
    tide_json_end_object(e->json);
    e->last_ns[thread] = time_ns;
    e->open[thread] = e->within[scope];
}

static void begin_slice(const lane *of, uint32_t scope, int64_t time_ns) {
    const tide_snapshot *snapshot = of->e->snapshot;
    const tide_scope_row *row = &snapshot->scopes[scope];
    tide_json_writer *json = of->e->json;
    char name[NAME_BYTES];
    if (row->index >= 0) {
        (void)snprintf(name, sizeof(name), "%.200s %d", tide_snapshot_text(snapshot, row->name),
                       (int)row->index);
    } else {
        (void)snprintf(name, sizeof(name), "%.200s", tide_snapshot_text(snapshot, row->name));
    }
    begin_event(json, "B", of->process, (int64_t)row->thread + 1, time_ns);
    tide_json_key_text(json, "name", name);
    tide_json_key_text(json, "cat", tide_scope_kind_name(row->kind));
    tide_json_key(json, "args");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "scope", scope);
    if (row->duration_ns == TIDE_SCOPE_OPEN) {
        tide_json_key(json, "still_open");
        tide_json_boolean(json, true);
    }
    tide_json_end_object(json);
    tide_json_end_object(json);
}

/* The nearest enclosing scope that has a place in this lane. */
static uint32_t parent_in(const lane *of, uint32_t scope) {
    const tide_scope_row *scopes = of->e->snapshot->scopes;
    uint32_t parent = scopes[scope].parent;
    while (parent != TIDE_NONE && !has_place(&scopes[parent], of->is_device)) {
        parent = scopes[parent].parent;
    }
    return parent;
}

/* Ends the scopes that do not enclose this one, then begins it. Clamps its times to those of
 * the previous and the enclosing scope: slices of the format must nest, and a file may contain
 * times that do not. */
static void enter(const lane *of, uint32_t scope) {
    exporting *e = of->e;
    const tide_scope_row *row = &e->snapshot->scopes[scope];
    uint16_t thread = row->thread;
    uint32_t parent = parent_in(of, scope);
    while (e->open[thread] != TIDE_NONE && e->open[thread] != parent) {
        end_slice(of, thread);
    }
    uint32_t around = e->open[thread];
    int64_t begin_ns = of->is_device ? row->device_begin_ns : row->begin_ns;
    int64_t duration_ns = of->is_device ? row->device_duration_ns : row->duration_ns;
    int64_t latest_ns = around != TIDE_NONE ? e->end_ns[around] : INT64_MAX;
    begin_ns = begin_ns < latest_ns ? begin_ns : latest_ns;
    begin_ns = begin_ns > e->last_ns[thread] ? begin_ns : e->last_ns[thread];
    int64_t end_ns = duration_ns < 0 || duration_ns > INT64_MAX - begin_ns ? e->until_ns
                                                                           : begin_ns + duration_ns;
    end_ns = end_ns < latest_ns ? end_ns : latest_ns;
    e->end_ns[scope] = end_ns > begin_ns ? end_ns : begin_ns;
    e->within[scope] = around;
    e->open[thread] = scope;
    e->last_ns[thread] = begin_ns;
    begin_slice(of, scope, begin_ns);
}

static void put_slices(const lane *of) {
    exporting *e = of->e;
    const tide_snapshot *snapshot = e->snapshot;
    for (size_t i = 0; i < N_THREADS; i++) {
        e->open[i] = TIDE_NONE;
        e->last_ns[i] = 0;
    }
    for (uint32_t i = 0; i < snapshot->n_scopes; i++) {
        if (has_place(&snapshot->scopes[i], of->is_device)) {
            enter(of, i);
        }
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        while (e->open[i] != TIDE_NONE) {
            end_slice(of, (uint16_t)i);
        }
    }
}

/* ---- memory ---- */

static void put_peak(const exporting *e, size_t device, int64_t time_ns) {
    int64_t event = e->peaks[device];
    const tide_export_totals *at = event < 0 ? &e->series.start[device] : &e->series.after[event];
    begin_instant(e->json, e->snapshot->n_dropped > 0 ? "highest kept" : "peak",
                  FIRST_DEVICE + (int64_t)device, time_ns);
    tide_json_key_integer(e->json, "event", event);
    tide_json_key_integer(e->json, "allocated_bytes", at->allocated_bytes);
    tide_json_key_integer(e->json, "reserved_bytes", at->reserved_bytes);
    end_instant(e->json);
}

static void put_start(const exporting *e) {
    for (size_t i = 0; i < e->snapshot->n_devices; i++) {
        int64_t process = FIRST_DEVICE + (int64_t)i;
        count(e->json, "allocated", process, 0, e->series.start[i].allocated_bytes);
        count(e->json, "reserved", process, 0, e->series.start[i].reserved_bytes);
        if (e->peaks[i] < 0) {
            put_peak(e, i, 0);
        }
    }
}

static void put_instant(const exporting *e, size_t row, int64_t process, int64_t time_ns) {
    const tide_event event = tide_event_at(e->snapshot, row);
    if (event.action == TIDE_ACTION_OOM) {
        begin_instant(e->json, "out of memory", process, time_ns);
        tide_json_key_integer(e->json, "event", (int64_t)row);
        tide_json_key_integer(e->json, "requested_bytes", (int64_t)event.requested_bytes);
        tide_json_key_integer(e->json, "free_bytes", (int64_t)event.block_bytes);
        end_instant(e->json);
    } else if (event.action == TIDE_ACTION_MARK) {
        const char *name = tide_snapshot_text(e->snapshot, event.name);
        begin_instant(e->json, name[0] != '\0' ? name : "mark", process, time_ns);
        tide_json_key_integer(e->json, "event", (int64_t)row);
        end_instant(e->json);
    }
}

/* `before`: the totals of each device so far; updated. */
static void put_row(const exporting *e, size_t row, tide_export_totals *before) {
    const tide_event event = tide_event_at(e->snapshot, row);
    const tide_export_totals *after = &e->series.after[row];
    tide_export_totals *of = &before[event.device];
    int64_t process = FIRST_DEVICE + (int64_t)event.device;
    int64_t time_ns = time_of(e, row);
    if (after->allocated_bytes != of->allocated_bytes) {
        count(e->json, "allocated", process, time_ns, after->allocated_bytes);
    }
    if (after->reserved_bytes != of->reserved_bytes) {
        count(e->json, "reserved", process, time_ns, after->reserved_bytes);
    }
    *of = *after;
    put_instant(e, row, process, time_ns);
    if (e->peaks[event.device] == (int64_t)row) {
        put_peak(e, event.device, time_ns);
    }
}

/* ---- the document ---- */

static void put_document(exporting *e, tide_export_totals *before) {
    const tide_snapshot *snapshot = e->snapshot;
    tide_json_writer *json = e->json;
    tide_json_begin_object(json);
    tide_json_key_text(json, "displayTimeUnit", "ns");
    tide_json_key(json, "otherData");
    tide_json_begin_object(json);
    tide_json_key_text(json, "command", snapshot->run.command);
    tide_json_key_text(json, "clock",
                       e->has_clock ? "ns since the recorder was created"
                                    : "none: events stand a microsecond apart");
    tide_json_end_object(json);
    tide_json_key(json, "traceEvents");
    tide_json_begin_array(json);
    name_part(json, "process_name", HOST_PROCESS, 0, "host");
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        name_device(e, i);
        before[i] = e->series.start[i];
    }
    if (e->has_clock) {
        name_threads(e, HOST_PROCESS, false);
        put_slices(&(lane){.e = e, .process = HOST_PROCESS});
    }
    if (e->has_clock &&
        snapshot->n_devices > 0) { /* scopes of several devices are not distinguished */
        name_threads(e, FIRST_DEVICE, true);
        put_slices(&(lane){.e = e, .process = FIRST_DEVICE, .is_device = true});
    }
    put_start(e);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        put_row(e, i, before);
    }
    tide_json_end_array(json);
    tide_json_end_object(json);
    tide_json_line(json);
}

/* The latest time in the file. */
static int64_t last_instant(const tide_snapshot *snapshot) {
    int64_t last_ns = snapshot->n_events > 0 ? snapshot->events.time_ns[snapshot->n_events - 1] : 0;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        int64_t end_ns = row->begin_ns;
        if (row->duration_ns > 0 && row->duration_ns <= INT64_MAX - end_ns) {
            end_ns += row->duration_ns;
        }
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

static tide_status find_peaks(exporting *e, tide_error *error) {
    tide_lifetimes lifetimes;
    TIDE_TRY(tide_lifetimes_init(&lifetimes, e->snapshot, e->snapshot->arena.mem, error));
    for (size_t i = 0; i < lifetimes.n_devices; i++) {
        e->peaks[i] = lifetimes.devices[i].max[TIDE_MAX_ALLOCATED].event;
    }
    tide_lifetimes_fini(&lifetimes);
    return TIDE_OK;
}

static tide_status to_sink(void *ctx, const char *text, size_t n_bytes) {
    const tide_export_sink *sink = ctx;
    return sink->write(sink->ctx, text, n_bytes);
}

static tide_status write_perfetto(const tide_snapshot *snapshot, const tide_export_options *options,
                                  const tide_export_sink *sink, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    (void)options; /* the whole recording */
    tide_export_sink to = *sink;
    exporting e = {.snapshot = snapshot,
                   .has_clock = strcmp(snapshot->clock_source, "none") != 0,
                   .until_ns = last_instant(snapshot)};
    TIDE_TRY(tide_export_series_init(&e.series, snapshot, error));
    tide_status status = TIDE_NO_MEMORY;
    tide_export_totals *before = tide_hostmem_zeroed(mem, snapshot->n_devices, sizeof(*before));
    e.json = mem->alloc(mem->ctx, sizeof(*e.json));
    e.peaks = tide_hostmem_zeroed(mem, snapshot->n_devices, sizeof(*e.peaks));
    e.within = tide_hostmem_zeroed(mem, snapshot->n_scopes, sizeof(*e.within));
    e.open = tide_hostmem_zeroed(mem, N_THREADS, sizeof(*e.open));
    e.last_ns = tide_hostmem_zeroed(mem, N_THREADS, sizeof(*e.last_ns));
    e.end_ns = tide_hostmem_zeroed(mem, snapshot->n_scopes, sizeof(*e.end_ns));
    if (before != NULL && e.json != NULL && e.peaks != NULL && e.within != NULL && e.open != NULL &&
        e.last_ns != NULL && e.end_ns != NULL) {
        status = find_peaks(&e, error);
    }
    if (status == TIDE_OK) {
        tide_json_writer_init(e.json, to_sink, &to);
        put_document(&e, before);
        status = tide_json_writer_finish(e.json);
    }
    mem->release(mem->ctx, before);
    mem->release(mem->ctx, e.json);
    mem->release(mem->ctx, e.peaks);
    mem->release(mem->ctx, e.within);
    mem->release(mem->ctx, e.open);
    mem->release(mem->ctx, e.last_ns);
    mem->release(mem->ctx, e.end_ns);
    tide_export_series_fini(&e.series);
    return status;
}

const tide_exporter tide_exporter_perfetto = {
    .name = "perfetto",
    .what = "scopes, allocated and reserved bytes over time, out of memory: ui.perfetto.dev, "
            "chrome://tracing",
    .write = write_perfetto,
};
