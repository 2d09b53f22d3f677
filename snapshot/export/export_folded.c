/* Blocks alive at one instant as folded stacks, for flamegraph.pl, speedscope and others: one line
 * per call stack, with its frames from the outermost on, separated by ';', a space, and the bytes
 * of its whole blocks. The numbers add up to the allocated bytes of that instant. */
#include <stdio.h>
#include <string.h>

#include "snapshot/export/export_friend.h"
#include "snapshot/document/scope_paths.h"
#include "snapshot/analysis/summary.h"

enum { MAX_FRAMES = 512 };

/* Bytes by call stack, and by scope path for blocks without a stack. */
typedef struct bytes_by {
    int64_t *stack; /* owned; n_stacks */
    int64_t *path;  /* owned; n_paths, and one entry for blocks outside every scope */
} bytes_by;

/* Replaces the characters that separate frames and lines. */
static void put_part(tide_export_text *out, const char *part) {
    while (*part != '\0') {
        size_t n = strcspn(part, ";\r\n");
        tide_export_put_n(out, part, n);
        part += n;
        if (*part != '\0') {
            tide_export_put(out, *part == ';' ? ":" : " ");
            part++;
        }
    }
}

/* "function (file.c:12)"; without the folder, which adds little in a flame graph. */
static void put_frame(tide_export_text *out, const tide_snapshot *snapshot, uint32_t frame) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *function = tide_snapshot_text(snapshot, row->function);
    const char *file = tide_snapshot_text(snapshot, row->file);
    const char *slash = strrchr(file, '/');
    put_part(out, function[0] != '\0' ? function : "?");
    if (file[0] != '\0') {
        tide_export_put(out, " (");
        put_part(out, slash != NULL ? slash + 1 : file);
        if (row->line > 0) {
            tide_export_put(out, ":");
            tide_export_put_integer(out, row->line);
        }
        tide_export_put(out, ")");
    }
}

static void put_bytes(tide_export_text *out, int64_t n_bytes) {
    tide_export_put(out, " ");
    tide_export_put_integer(out, n_bytes);
    tide_export_put(out, "\n");
}

/* A stack deeper than MAX_FRAMES loses its outermost frames; one frame says so. */
static void put_stack(tide_export_text *out, const tide_snapshot *snapshot, uint32_t stack,
                      int64_t n_bytes) {
    uint32_t nodes[MAX_FRAMES];
    size_t n = 0;
    for (; stack != TIDE_NONE && n < MAX_FRAMES; stack = snapshot->stacks[stack].parent) {
        nodes[n++] = stack;
    }
    if (stack != TIDE_NONE) {
        tide_export_put(out, "(deeper);");
    }
    while (n > 0) {
        n--;
        put_frame(out, snapshot, snapshot->stacks[nodes[n]].frame);
        if (n > 0) {
            tide_export_put(out, ";");
        }
    }
    put_bytes(out, n_bytes);
}

/* "(no call stack);backward;layer 5;attention" from "backward > layer 5 > attention". */
static void put_path(tide_export_text *out, const char *path, int64_t n_bytes) {
    tide_export_put(out, "(no call stack)");
    while (*path != '\0') {
        const char *end = strstr(path, " > ");
        char part[TIDE_SCOPE_PATH_BYTES];
        size_t n = end != NULL ? (size_t)(end - path) : strlen(path);
        (void)snprintf(part, sizeof(part), "%.*s", (int)n, path);
        tide_export_put(out, ";");
        put_part(out, part);
        path += n + (end != NULL ? strlen(" > ") : 0);
    }
    put_bytes(out, n_bytes);
}

static void add_up(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                   const tide_scope_paths *paths, int64_t event, size_t device, bytes_by *by) {
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        if (lifetime->device != device || !tide_lifetime_is_allocated(lifetime, event)) {
            continue;
        }
        if (lifetime->stack < snapshot->n_stacks) {
            by->stack[lifetime->stack] += (int64_t)lifetime->block_bytes;
            continue;
        }
        uint32_t path = lifetime->scope != TIDE_NONE ? paths->of_scope[lifetime->scope] : TIDE_NONE;
        by->path[path != TIDE_NONE ? path : paths->n_paths] += (int64_t)lifetime->block_bytes;
    }
}

static tide_status put_all(tide_export_text *out, const tide_snapshot *snapshot,
                           const tide_scope_paths *paths, const bytes_by *by) {
    for (uint32_t i = 0; i < snapshot->n_stacks; i++) {
        if (by->stack[i] > 0) {
            put_stack(out, snapshot, i, by->stack[i]);
        }
    }
    tide_arena arena;
    tide_arena_init(&arena, snapshot->arena.mem);
    const char *text = "";
    for (size_t i = 0; i <= paths->n_paths && text != NULL; i++) {
        if (by->path[i] > 0) {
            text = tide_scope_paths_text(paths, snapshot,
                                         i < paths->n_paths ? (uint32_t)i : TIDE_NONE, &arena);
            if (text != NULL) {
                put_path(out, text, by->path[i]);
            }
        }
    }
    tide_arena_fini(&arena);
    return text != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The instant of the options; else the peak, or the end if the peak is lost. */
static void choose(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                   const tide_export_options *options, int64_t *ret_event, size_t *ret_device) {
    size_t device = 0;
    for (size_t i = 1; i < lifetimes->n_devices && options->device < 0; i++) {
        if (lifetimes->devices[i].max[TIDE_MAX_ALLOCATED].bytes >
            lifetimes->devices[device].max[TIDE_MAX_ALLOCATED].bytes) {
            device = i;
        }
    }
    *ret_device = options->device >= 0 ? (size_t)options->device : device;
    *ret_event = options->at_event != TIDE_EXPORT_PEAK ? options->at_event
                 : tide_snapshot_lacks_peak(snapshot)
                     ? (int64_t)snapshot->n_events - 1
                     : lifetimes->devices[*ret_device].max[TIDE_MAX_ALLOCATED].event;
}

static tide_status write_state(const tide_snapshot *snapshot, const tide_export_options *options,
                               const tide_lifetimes *lifetimes, const tide_scope_paths *paths,
                               const tide_export_sink *sink) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_status status = TIDE_NO_MEMORY;
    int64_t event = 0;
    size_t device = 0;
    bytes_by by = {.stack = tide_hostmem_zeroed(mem, snapshot->n_stacks, sizeof(int64_t)),
                   .path = tide_hostmem_zeroed(mem, paths->n_paths + 1, sizeof(int64_t))};
    tide_export_text *out = tide_export_text_create(sink, mem);
    if (by.stack != NULL && by.path != NULL && out != NULL) {
        choose(snapshot, lifetimes, options, &event, &device);
        add_up(snapshot, lifetimes, paths, event, device, &by);
        status = put_all(out, snapshot, paths, &by);
        tide_status written = tide_export_text_finish(out);
        status = status == TIDE_OK ? written : status;
    }
    mem->release(mem->ctx, out);
    mem->release(mem->ctx, by.stack);
    mem->release(mem->ctx, by.path);
    return status;
}

static tide_status write_folded(const tide_snapshot *snapshot, const tide_export_options *options,
                                const tide_export_sink *sink, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_lifetimes lifetimes;
    tide_scope_paths paths;
    if (snapshot->n_devices == 0) {
        return TIDE_OK; /* no block is alive on any device */
    }
    TIDE_TRY(tide_lifetimes_init(&lifetimes, snapshot, mem, error));
    tide_status status = tide_scope_paths_init(&paths, snapshot, mem);
    if (status == TIDE_OK) {
        status = write_state(snapshot, options, &lifetimes, &paths, sink);
        tide_scope_paths_fini(&paths);
    }
    tide_lifetimes_fini(&lifetimes);
    return status;
}

const tide_exporter tide_exporter_folded = {
    .name = "folded",
    .what = "bytes alive by call stack, at the peak or --at: flamegraph.pl, speedscope",
    .is_state = true,
    .write = write_folded,
};
