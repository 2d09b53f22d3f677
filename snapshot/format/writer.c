#include "snapshot/document/snapshot.h"

#include <string.h>

#include "snapshot/format/gzip_file.h"
#include "snapshot/document/validate.h"
#include "snapshot/format/writer_keys_internal.h"

enum { ADDRESS_UNIT_BYTES = 512 };

static tide_status to_gzip(void *ctx, const char *text, size_t n_bytes) {
    return tide_gzip_writer_write(ctx, text, n_bytes);
}

/* 512 if every address is a multiple of it, else 1. */
static uint64_t address_unit_bytes(const tide_snapshot *snapshot) {
    uint64_t bits = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (tide_action_has_address(row.action)) {
            bits |= row.address;
        }
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        bits |= snapshot->start_segments[i].address;
    }
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        bits |= snapshot->end_segments[i].address;
    }
    return bits % ADDRESS_UNIT_BYTES == 0 ? ADDRESS_UNIT_BYTES : 1;
}

static tide_status check(const tide_snapshot *snapshot, tide_error *error) {
    char place[TIDE_PLACE_BYTES] = "";
    if (tide_snapshot_validate(snapshot, place, error) != TIDE_OK) {
        tide_error_prefix(error, "the snapshot contradicts itself at %s", place);
        return TIDE_INVALID;
    }
    return TIDE_OK;
}

/* Writes the document of a snapshot that has passed check(). */
static tide_status write_to(const tide_snapshot *snapshot, const tide_summary *summary,
                            tide_status (*sink)(void *ctx, const char *text, size_t n_bytes),
                            void *ctx) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_json_writer *json = mem->alloc(mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_writer_init(json, sink, ctx);
    const tide_writer writer = {.json = json,
                                .snapshot = snapshot,
                                .unit_bytes = address_unit_bytes(snapshot),
                                .summary = summary,
                                .write_summary = tide_write_summary};
    tide_write_object(&writer, NULL, &tide_writable_document, snapshot);
    tide_json_line(json);
    tide_status status = tide_json_writer_finish(json);
    mem->release(mem->ctx, json);
    return status;
}

tide_status tide_snapshot_write_to(const tide_snapshot *snapshot,
                                   tide_status (*sink)(void *ctx, const char *text, size_t n_bytes),
                                   void *ctx, tide_error *error) {
    tide_summary *summary = NULL;
    TIDE_TRY(check(snapshot, error));
    TIDE_TRY(tide_summary_create(snapshot, &summary, error));
    tide_status status = write_to(snapshot, summary, sink, ctx);
    tide_summary_destroy(summary);
    return status;
}

static tide_status write_file(const tide_snapshot *snapshot, const tide_summary *summary,
                              const char *path, tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_gzip_writer *file = NULL;
    size_t n_path = strlen(path);
    bool is_plain = n_path > 5 && strcmp(path + n_path - 5, ".json") == 0; /* by its name */
    TIDE_TRY(is_plain ? tide_gzip_writer_open_plain(path, mem, &file, error)
                      : tide_gzip_writer_open(path, mem, &file, error));
    tide_status status = write_to(snapshot, summary, to_gzip, file);
    if (status == TIDE_NO_MEMORY) {
        tide_gzip_writer_abandon(file);
        return status;
    }
    /* A failed write sticks in the file: commit returns it with the reason. */
    return tide_gzip_writer_commit(file, error) != TIDE_OK ? TIDE_IO : status;
}

tide_status tide_snapshot_save(const tide_snapshot *snapshot, const char *path, tide_error *error) {
    tide_summary *summary = NULL;
    TIDE_TRY(check(snapshot, error));
    TIDE_TRY(tide_summary_create(snapshot, &summary, error));
    tide_status status = write_file(snapshot, summary, path, error);
    tide_summary_destroy(summary);
    if (status == TIDE_NO_MEMORY) {
        return tide_fail(error, status, "no host memory to write '%s'", path);
    }
    return status;
}
