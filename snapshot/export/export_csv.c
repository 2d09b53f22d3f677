/* The events as comma-separated values (RFC 4180, with bare line feeds): one row per event, with
 * the totals of its device after the event. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/export/export_friend.h"
#include "snapshot/document/scope_paths.h"

enum { STEP_NONE = -1 };

/* Puts a text, in quotes if needed. */
static void put_text(tide_export_text *out, const char *text) {
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        tide_export_put(out, text);
        return;
    }
    tide_export_put(out, "\"");
    for (const char *quote = strchr(text, '"'); quote != NULL; quote = strchr(text, '"')) {
        tide_export_put_n(out, text, (size_t)(quote - text) + 1);
        tide_export_put(out, "\"");
        text = quote + 1;
    }
    tide_export_put(out, text);
    tide_export_put(out, "\"");
}

static void put_number(tide_export_text *out, int64_t value) {
    tide_export_put(out, ",");
    tide_export_put_integer(out, value);
}

static void put_address(tide_export_text *out, const tide_event *event) {
    char text[24] = ",";
    if (tide_action_has_address(event->action)) {
        (void)snprintf(text, sizeof(text), ",0x%" PRIx64, event->address);
    }
    tide_export_put(out, text);
}

/* Puts the number of the step that encloses the scope; empty outside every step. */
static void put_step(tide_export_text *out, const tide_snapshot *snapshot, uint32_t scope) {
    int64_t index = STEP_NONE;
    bool is_found = false;
    while (scope != TIDE_NONE && !is_found) {
        is_found = snapshot->scopes[scope].kind == TIDE_SCOPE_STEP;
        index = snapshot->scopes[scope].index;
        scope = snapshot->scopes[scope].parent;
    }
    tide_export_put(out, ",");
    if (is_found) {
        tide_export_put_integer(out, index);
    }
}

/* The innermost frame: function, file and line. */
static void put_frame(tide_export_text *out, const tide_snapshot *snapshot, uint32_t stack) {
    tide_export_put(out, ",");
    if (stack == TIDE_NONE) {
        tide_export_put(out, ",,");
        return;
    }
    const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[stack].frame];
    put_text(out, tide_snapshot_text(snapshot, frame->function));
    tide_export_put(out, ",");
    put_text(out, tide_snapshot_text(snapshot, frame->file));
    tide_export_put(out, ",");
    if (frame->line > 0) {
        tide_export_put_integer(out, frame->line);
    }
}

static void put_event(tide_export_text *out, const tide_snapshot *snapshot, size_t i,
                      const tide_export_totals *after, const char *path) {
    const tide_event event = tide_event_at(snapshot, i);
    tide_export_put_integer(out, (int64_t)i);
    put_number(out, event.time_ns);
    tide_export_put(out, ",");
    tide_export_put(out, tide_action_name(event.action));
    put_number(out, event.device);
    put_number(out, event.stream);
    put_address(out, &event);
    put_number(out, (int64_t)event.requested_bytes);
    put_number(out, (int64_t)event.block_bytes);
    put_number(out, after->allocated_bytes);
    put_number(out, after->reserved_bytes);
    tide_export_put(out, ",");
    put_text(out, tide_snapshot_category(snapshot, event.category));
    tide_export_put(out, ",");
    put_text(out, tide_snapshot_text(snapshot, event.name));
    put_step(out, snapshot, event.scope);
    tide_export_put(out, ",");
    put_text(out, path);
    put_number(out, event.stack == TIDE_NONE ? -1 : (int64_t)event.stack);
    put_frame(out, snapshot, event.stack);
    tide_export_put(out, "\n");
}

static tide_status put_events(tide_export_text *out, const tide_snapshot *snapshot,
                              const tide_export_series *series, const tide_scope_paths *paths,
                              tide_arena *arena) {
    const char **texts = tide_arena_alloc(arena, paths->n_paths, sizeof(*texts));
    for (size_t i = 0; texts != NULL && i < paths->n_paths; i++) {
        texts[i] = tide_scope_paths_text(paths, snapshot, (uint32_t)i, arena);
        if (texts[i] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_events && out->status == TIDE_OK; i++) {
        uint32_t scope = tide_index_at(&snapshot->events.scope, i);
        uint32_t path = scope != TIDE_NONE ? paths->of_scope[scope] : TIDE_NONE;
        put_event(out, snapshot, i, &series->after[i], path != TIDE_NONE ? texts[path] : "");
    }
    return TIDE_OK;
}

static tide_status write_csv(const tide_snapshot *snapshot, const tide_export_options *options,
                             const tide_export_sink *sink, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_export_series series;
    tide_scope_paths paths;
    tide_arena arena;
    (void)options; /* the whole recording */
    TIDE_TRY(tide_export_series_init(&series, snapshot, error));
    tide_arena_init(&arena, mem);
    tide_export_text *out = tide_export_text_create(sink, mem);
    tide_status status = out != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    if (status != TIDE_OK) {
        goto done;
    }
    status = tide_scope_paths_init(&paths, snapshot, mem);
    if (status != TIDE_OK) {
        goto done;
    }
    tide_export_put(out, "event,time_ns,action,device,stream,address,requested_bytes,block_bytes,"
                         "allocated_bytes,reserved_bytes,category,name,step,scope,stack,function,"
                         "file,line\n");
    status = put_events(out, snapshot, &series, &paths, &arena);
    tide_status written = tide_export_text_finish(out);
    status = status == TIDE_OK ? written : status;
    tide_scope_paths_fini(&paths);

done:
    mem->release(mem->ctx, out);
    tide_arena_fini(&arena);
    tide_export_series_fini(&series);
    return status;
}

const tide_exporter tide_exporter_csv = {
    .name = "csv",
    .what = "the events, one a row, with the totals of their device after them",
    .write = write_csv,
};
