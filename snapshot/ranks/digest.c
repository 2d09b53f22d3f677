#include "snapshot/ranks/digest.h"

#include <string.h>

#include "snapshot/ranks/digest_internal.h"

static const char *own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- the rank ---- */

/* The one rank that texts of the recording name; -1: none, or several. */
static int64_t rank_of_strings(const tide_snapshot *snapshot) {
    int64_t found = -1;
    for (size_t i = 0; i < snapshot->n_strings; i++) {
        int64_t rank = tide_digest_rank_of_text(snapshot->strings[i]);
        if (rank >= 0 && found >= 0 && rank != found) {
            return -1;
        }
        found = rank >= 0 ? rank : found;
    }
    return found;
}

int64_t tide_digest_find_rank(const tide_snapshot *snapshot, const tide_digest_source *source,
                              const char **ret_from) {
    const struct {
        const char *from;
        int64_t rank;
    } PLACES[] = {{TIDE_RANK_OPTION, source->rank},
                  {TIDE_RANK_RECORDED, snapshot->rank.rank},
                  {TIDE_RANK_ANNOTATION, rank_of_strings(snapshot)},
                  {TIDE_RANK_FILE_NAME, tide_digest_rank_of_path(source->path)}};
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        if (PLACES[i].rank >= 0) {
            *ret_from = PLACES[i].from;
            return PLACES[i].rank;
        }
    }
    *ret_from = TIDE_RANK_UNKNOWN;
    return -1;
}

/* ---- the whole ---- */

static void copy_plain(tide_digest *digest, const tide_snapshot *from) {
    digest->tool_version = from->tool_version;
    digest->tool_build = from->tool_build;
    digest->format = from->origin.format[0] != '\0' ? from->origin.format : "tidemark";
    digest->command = from->run.command;
    digest->outcome = from->run.outcome;
    digest->started_unix_us = from->run.started_unix_us;
    digest->ended = ""; /* a black box adds it */
    digest->ended_unix_us = -1;
    digest->node = from->run.host_name;
    digest->host_name = from->run.host_name;
    digest->host_os = from->run.host_os;
    digest->host_cpu = from->run.host_cpu;
    digest->software = from->software;
    digest->n_software = from->n_software;
    digest->settings = from->settings;
    digest->n_settings = from->n_settings;
    digest->owners = from->owners;
    digest->n_owners = from->n_owners;
    digest->inexact = from->inexact;
    digest->n_inexact = from->n_inexact;
}

/* The devices with events or memory. */
static tide_status hand_over(const tide_digest_parts *of, tide_digest *digest) {
    tide_digest_device *devices =
        tide_arena_alloc(of->arena, of->snapshot->n_devices, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < of->snapshot->n_devices; i++) {
        if (tide_digest_has_memory(&of->work[i].made)) {
            devices[digest->n_devices++] = of->work[i].made;
        }
    }
    digest->devices = devices;
    return TIDE_OK;
}

static void parts_fini(tide_digest_parts *of) {
    tide_live_walk_destroy(of->walk);
    for (size_t i = 0; of->work != NULL && i < of->snapshot->n_devices; i++) {
        tide_digest_fini_steps(of, &of->work[i]);
    }
    of->mem->release(of->mem->ctx, of->work);
    tide_map_fini(&of->path_of);
    tide_scope_paths_fini(&of->paths);
}

static tide_status make(const tide_event_source *events, tide_arena *arena, tide_digest *digest,
                        tide_error *error) {
    tide_digest_parts parts = {.events = events,
                               .snapshot = events->document,
                               .mem = arena->mem,
                               .arena = arena,
                               .error = error};
    tide_scope_paths_init_empty(&parts.paths, parts.mem);
    tide_map_init(&parts.path_of, parts.mem);
    parts.work = tide_hostmem_zeroed(parts.mem, parts.snapshot->n_devices, sizeof(*parts.work));
    tide_status status = parts.work != NULL ? tide_digest_walk(&parts) : TIDE_NO_MEMORY;
    if (status == TIDE_OK) {
        status = hand_over(&parts, digest);
    }
    parts_fini(&parts);
    return status;
}

tide_status tide_digest_make(const tide_snapshot *snapshot, const tide_digest_source *source,
                             tide_arena *arena, tide_digest **ret_digest, tide_error *error) {
    tide_document_events state;
    const tide_event_source events = tide_event_source_of(snapshot, &state);
    return tide_digest_make_of_events(&events, source, arena, ret_digest, error);
}

tide_status tide_digest_make_of_events(const tide_event_source *events,
                                       const tide_digest_source *source, tide_arena *arena,
                                       tide_digest **ret_digest, tide_error *error) {
    const tide_snapshot *document = events->document;
    tide_digest *digest = tide_arena_alloc(arena, 1, sizeof(*digest));
    if (digest == NULL) {
        return TIDE_NO_MEMORY;
    }
    copy_plain(digest, document);
    digest->rank = document->rank;
    digest->rank.rank = tide_digest_find_rank(document, source, &digest->from);
    digest->file = tide_arena_text(arena, own_name(source->path));
    if (digest->file == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(make(events, arena, digest, error));
    *ret_digest = digest;
    return TIDE_OK;
}
