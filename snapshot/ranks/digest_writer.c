/* The text of a digest, and its file. */
#include <string.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

#include "common/text.h"
#include "snapshot/ranks/digest.h"
#include "snapshot/format/gzip_file.h"
#include "snapshot/format/writer_friend.h"

enum { GZIP_WINDOW = 31, LEVEL = 9, MOST_TEXT_BYTES = 1024 };

/* Readers refuse what is beyond the limit, and a program may have asked for as much. */
static int64_t within(int64_t number) {
    int64_t most = TIDE_DIGEST_MOST_NUMBER;
    return number > most ? most : number < -most ? -most : number;
}

static void key_number(tide_json_writer *json, const char *key, int64_t number) {
    tide_json_key_integer(json, key, within(number));
}

/* A text of which a hostile source may have made much. */
static void short_text(tide_json_writer *json, const char *key, const char *text) {
    char cut[MOST_TEXT_BYTES];
    tide_text to = tide_text_in(cut, sizeof(cut));
    tide_text_add(&to, "%s", text);
    tide_json_key_text(json, key, cut);
}

static void write_bytes(tide_json_writer *json, const tide_digest_bytes *bytes) {
    key_number(json, "requested_bytes", bytes->requested_bytes);
    key_number(json, "allocated_bytes", bytes->allocated_bytes);
    key_number(json, "active_bytes", bytes->active_bytes);
    key_number(json, "reserved_bytes", bytes->reserved_bytes);
}

static void write_key_bytes(tide_json_writer *json, const char *key,
                            const tide_digest_bytes *bytes) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    write_bytes(json, bytes);
    tide_json_end_object(json);
}

static void write_peak(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "peak");
    tide_json_begin_object(json);
    key_number(json, "event", device->peak.event);
    key_number(json, "time_ns", device->peak.time_ns);
    key_number(json, "step", device->peak.step);
    short_text(json, "phase", device->peak.phase);
    write_bytes(json, &device->peak.bytes);
    tide_json_end_object(json);
    write_key_bytes(json, "max", &device->max);
    write_key_bytes(json, "end", &device->end);
    key_number(json, "headroom_bytes", device->headroom_bytes);
    key_number(json, "low_bytes", device->low_bytes);
    key_number(json, "high_bytes", device->high_bytes);
    key_number(json, "reserved_low_bytes", device->reserved_low_bytes);
    key_number(json, "reserved_high_bytes", device->reserved_high_bytes);
    tide_json_line(json);
}

static void write_events(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "oom");
    if (device->oom.event < 0) {
        tide_json_null(json);
    } else {
        tide_json_begin_object(json);
        key_number(json, "event", device->oom.event);
        key_number(json, "time_ns", device->oom.time_ns);
        key_number(json, "requested_bytes", device->oom.requested_bytes);
        key_number(json, "free_bytes", device->oom.free_bytes);
        tide_json_key_text(json, "line", device->oom.line);
        tide_json_end_object(json);
    }
    tide_json_key(json, "growth");
    if (!device->growth.is_known) {
        tide_json_null(json);
    } else {
        tide_json_begin_object(json);
        key_number(json, "bytes_per_step", device->growth.bytes_per_step);
        key_number(json, "since_step", device->growth.since_step);
        tide_json_key_text(json, "line", device->growth.line);
        tide_json_end_object(json);
    }
    tide_json_line(json);
}

static void write_rows(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "rows");
    tide_json_begin_array(json);
    for (size_t i = 0; i < device->n_rows; i++) {
        const tide_digest_row *row = &device->rows[i];
        tide_json_begin_object(json);
        tide_json_key_text(json, "line", row->line);
        tide_json_key_text(json, "category", row->category);
        tide_json_key_text(json, "certainty", row->certainty);
        tide_json_key_text(json, "scope", row->scope);
        key_number(json, "bytes", row->bytes);
        key_number(json, "n_blocks", row->n_blocks);
        tide_json_end_object(json);
        tide_json_line(json);
    }
    tide_json_end_array(json);
    tide_json_key(json, "rest");
    tide_json_begin_object(json);
    key_number(json, "bytes", device->rest.bytes);
    key_number(json, "n_blocks", device->rest.n_blocks);
    key_number(json, "n_rows", device->rest.n_rows);
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_steps(tide_json_writer *json, const tide_digest_device *device) {
    tide_json_key(json, "steps");
    tide_json_begin_array(json);
    for (size_t i = 0; i < device->n_steps; i++) {
        const tide_digest_step *step = &device->steps[i];
        tide_json_begin_object(json);
        key_number(json, "index", step->index);
        key_number(json, "n_steps", step->n_steps);
        short_text(json, "name", step->name);
        key_number(json, "begin_ns", step->begin_ns);
        key_number(json, "end_ns", step->end_ns);
        key_number(json, "allocated_peak_bytes", step->allocated_peak_bytes);
        key_number(json, "reserved_peak_bytes", step->reserved_peak_bytes);
        key_number(json, "end_bytes", step->end_bytes);
        tide_json_end_object(json);
        tide_json_line(json);
    }
    tide_json_end_array(json);
}

static void write_timeline(tide_json_writer *json, const tide_digest_device *device) {
    static const struct {
        const char *key;
        size_t offset;
    } COLUMNS[] = {{"time_ns", offsetof(tide_digest_point, time_ns)},
                   {"allocated_bytes", offsetof(tide_digest_point, allocated_bytes)},
                   {"reserved_bytes", offsetof(tide_digest_point, reserved_bytes)}};
    tide_json_key(json, "timeline");
    tide_json_begin_object(json);
    key_number(json, "begin_unix_us", device->timeline_begin_unix_us);
    for (size_t c = 0; c < sizeof(COLUMNS) / sizeof(COLUMNS[0]); c++) {
        tide_json_key(json, COLUMNS[c].key);
        tide_json_begin_array(json);
        for (size_t i = 0; i < device->n_points; i++) {
            const char *point = (const char *)&device->points[i];
            tide_json_integer(json,
                              within(*(const int64_t *)(const void *)(point + COLUMNS[c].offset)));
        }
        tide_json_end_array(json);
    }
    tide_json_end_object(json);
}

static void write_devices(tide_json_writer *json, const tide_digest *digest) {
    tide_json_key(json, "devices");
    tide_json_begin_array(json);
    for (size_t i = 0; i < digest->n_devices; i++) {
        const tide_digest_device *device = &digest->devices[i];
        tide_json_begin_object(json);
        key_number(json, "index", device->index);
        tide_json_key_text(json, "kind", device->kind);
        short_text(json, "name", device->name);
        key_number(json, "total_bytes", device->total_bytes);
        tide_json_key(json, "counts");
        tide_json_begin_object(json);
        key_number(json, "events", device->n_events);
        key_number(json, "dropped", device->n_dropped);
        tide_json_end_object(json);
        tide_json_line(json);
        write_peak(json, device);
        write_events(json, device);
        write_rows(json, device);
        write_steps(json, device);
        write_timeline(json, device);
        tide_json_end_object(json);
        tide_json_line(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
}

static void write_settings(tide_json_writer *json, const char *key,
                           const tide_snapshot_setting *settings, size_t n) {
    tide_json_key(json, key);
    tide_json_begin_object(json);
    for (size_t i = 0; i < n; i++) {
        if (settings[i].text != NULL) {
            short_text(json, settings[i].name, settings[i].text);
        } else {
            tide_json_key_real(json, settings[i].name, settings[i].number);
        }
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_rank(tide_json_writer *json, const tide_digest *digest) {
    tide_json_key(json, "rank");
    tide_json_begin_object(json);
    short_text(json, "node", digest->node);
    tide_json_key_text(json, "from", digest->from);
    tide_write_rank_keys(json, &digest->rank);
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_source(tide_json_writer *json, const tide_digest *digest) {
    tide_json_key(json, "tool");
    tide_json_begin_object(json);
    short_text(json, "version", digest->tool_version);
    short_text(json, "build", digest->tool_build);
    tide_json_end_object(json);
    tide_json_key(json, "source");
    tide_json_begin_object(json);
    short_text(json, "file", digest->file);
    short_text(json, "format", digest->format);
    short_text(json, "command", digest->command);
    key_number(json, "started_unix_us", digest->started_unix_us);
    short_text(json, "outcome", digest->outcome);
    tide_json_end_object(json);
    tide_json_line(json);
    write_rank(json, digest);
    tide_json_key(json, "host");
    tide_json_begin_object(json);
    short_text(json, "name", digest->host_name);
    short_text(json, "os", digest->host_os);
    short_text(json, "cpu", digest->host_cpu);
    tide_json_end_object(json);
    tide_json_line(json);
}

static void write_owners(tide_json_writer *json, const tide_digest *digest) {
    tide_json_key(json, "owners");
    tide_json_begin_array(json);
    for (size_t i = 0; i < digest->n_owners; i++) {
        const tide_snapshot_owner *owner = &digest->owners[i];
        tide_json_begin_object(json);
        short_text(json, "name", owner->name);
        key_number(json, "device", owner->device);
        key_number(json, "peak_bytes", owner->peak_bytes);
        key_number(json, "end_bytes", owner->end_bytes);
        key_number(json, "allocations", owner->n_allocations);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
    tide_json_line(json);
    tide_json_key(json, "inexact");
    tide_json_begin_array(json);
    for (size_t i = 0; i < digest->n_inexact; i++) {
        tide_json_begin_object(json);
        short_text(json, "call", digest->inexact[i].call);
        short_text(json, "what", digest->inexact[i].what);
        key_number(json, "bound_bytes", digest->inexact[i].bound_bytes);
        tide_json_end_object(json);
    }
    tide_json_end_array(json);
}

static void write_document(tide_json_writer *json, const tide_digest *digest) {
    tide_json_begin_object(json);
    tide_json_key_text(json, "format", "tidemark-digest");
    key_number(json, "version", TIDE_DIGEST_VERSION);
    write_source(json, digest);
    write_settings(json, "software", digest->software, digest->n_software);
    write_settings(json, "settings", digest->settings, digest->n_settings);
    write_devices(json, digest);
    write_owners(json, digest);
    tide_json_end_object(json);
    tide_json_line(json);
}

/* Text that grows. */
typedef struct growing {
    const tide_hostmem *mem; /* borrowed */
    char *bytes;             /* owned */
    size_t n_bytes, capacity;
} growing;

static tide_status grow(void *ctx, const char *text, size_t n_bytes) {
    growing *to = ctx;
    char *grown = tide_hostmem_grow(to->mem, to->bytes, &to->capacity, to->n_bytes + n_bytes, 1);
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->bytes = grown;
    memcpy(to->bytes + to->n_bytes, text, n_bytes);
    to->n_bytes += n_bytes;
    return TIDE_OK;
}

static tide_status write_text(const tide_digest *digest, growing *to) {
    tide_json_writer *json = to->mem->alloc(to->mem->ctx, sizeof(*json));
    if (json == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->n_bytes = 0;
    tide_json_writer_init(json, grow, to);
    write_document(json, digest);
    tide_status status = tide_json_writer_finish(json);
    to->mem->release(to->mem->ctx, json);
    return status;
}

tide_status tide_digest_text(const tide_digest *digest, tide_arena *arena, const char **ret_text,
                             size_t *ret_bytes) {
    growing text = {.mem = arena->mem};
    tide_status status = write_text(digest, &text);
    char *copy = status == TIDE_OK ? tide_arena_text_n(arena, text.bytes, text.n_bytes) : NULL;
    if (copy != NULL) {
        *ret_text = copy;
        *ret_bytes = text.n_bytes;
    }
    arena->mem->release(arena->mem->ctx, text.bytes);
    return copy != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The compressed text; TIDE_LIMIT: it has more than TIDE_DIGEST_BYTES. */
static tide_status compress_text(const growing *text, unsigned char *out, size_t *ret_bytes) {
    z_stream zip;
    memset(&zip, 0, sizeof(zip));
    if (deflateInit2(&zip, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return TIDE_NO_MEMORY;
    }
    zip.next_in = (const Bytef *)text->bytes;
    zip.avail_in = (uInt)text->n_bytes;
    zip.next_out = out;
    zip.avail_out = TIDE_DIGEST_BYTES;
    int result = deflate(&zip, Z_FINISH);
    *ret_bytes = TIDE_DIGEST_BYTES - zip.avail_out;
    deflateEnd(&zip);
    return result == Z_STREAM_END ? TIDE_OK : TIDE_LIMIT;
}

static tide_status write_file(const char *path, const tide_hostmem *mem, const char *bytes,
                              size_t n_bytes, tide_error *error) {
    tide_gzip_writer *file = NULL;
    TIDE_TRY(tide_gzip_writer_open_plain(path, mem, &file, error));
    tide_status sticks = tide_gzip_writer_write(file, bytes, n_bytes);
    (void)sticks; /* until commit */
    return tide_gzip_writer_commit(file, error);
}

tide_status tide_digest_save(tide_digest *digest, const char *path, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_path = strlen(path);
    bool is_plain = n_path > 5 && strcmp(path + n_path - 5, ".json") == 0;
    growing text = {.mem = mem};
    size_t n_bytes = 0;
    unsigned char *out = mem->alloc(mem->ctx, TIDE_DIGEST_BYTES);
    tide_status status = out != NULL ? TIDE_LIMIT : TIDE_NO_MEMORY;
    while (status == TIDE_LIMIT) {
        status = write_text(digest, &text);
        if (status == TIDE_OK) {
            status = compress_text(&text, out, &n_bytes);
        }
        if (status == TIDE_LIMIT && !tide_digest_shrink(digest)) {
            status = tide_fail(error, TIDE_LIMIT, "a digest of '%s' has more than %d bytes",
                               digest->file, (int)TIDE_DIGEST_BYTES);
            break;
        }
    }
    if (status == TIDE_OK) {
        status = is_plain ? write_file(path, mem, text.bytes, text.n_bytes, error)
                          : write_file(path, mem, (const char *)out, n_bytes, error);
    }
    mem->release(mem->ctx, text.bytes);
    mem->release(mem->ctx, out);
    return status;
}
