/* Reads the file of a digest, which nobody checked. */
#include <inttypes.h>
#include <string.h>

#include "snapshot/ranks/digest_reader_internal.h"
#include "snapshot/format/gzip_file.h"

enum { MOST_DEVICES = 256, MOST_OTHERS = 1024, TEXT_BYTES = 4096, BEGIN = 256 };

void tide_digest_read_fields(tide_digest_reader *in, const tide_digest_field *fields, size_t n,
                             uint32_t required, void *to) {
    const char *keys[TIDE_JSON_MAX_FIELDS];
    int at = -1;
    for (size_t i = 0; i < n; i++) {
        keys[i] = fields[i].key;
    }
    tide_json_enter_object(&in->json);
    while ((at = tide_json_next_field(&in->json, keys, n, required)) >= 0) {
        void *member = (char *)to + fields[at].offset;
        if (fields[at].read != NULL) {
            fields[at].read(in, to);
        } else if (fields[at].is_number) {
            *(int64_t *)member =
                tide_json_get_integer(&in->json, -TIDE_DIGEST_MOST_NUMBER, TIDE_DIGEST_MOST_NUMBER);
        } else {
            *(const char **)member = tide_json_get_text(&in->json, in->arena);
        }
    }
}

void tide_digest_read_list(tide_digest_reader *in, tide_digest_list *to) {
    const tide_hostmem *mem = in->arena->mem;
    char *rows = NULL;
    size_t capacity = 0;
    tide_json_enter_array(&in->json);
    while (tide_json_next_item(&in->json)) {
        if (to->n == to->limit) {
            tide_json_fail(&in->json, TIDE_LIMIT, in->json.at, "more than the limit of %zu of them",
                           to->limit);
            break;
        }
        char *grown = tide_hostmem_grow(mem, rows, &capacity, to->n + 1, to->row_bytes);
        if (grown == NULL) {
            tide_json_fail(&in->json, TIDE_NO_MEMORY, in->json.at, "no memory for these rows");
            break;
        }
        rows = grown;
        memcpy(rows + to->n * to->row_bytes, to->empty, to->row_bytes);
        to->read(in, rows + to->n * to->row_bytes);
        to->n++;
    }
    to->rows = tide_arena_copy(in->arena, rows, to->n, to->row_bytes);
    if (to->rows == NULL) {
        to->n = 0;
        tide_json_fail(&in->json, TIDE_NO_MEMORY, in->json.at, "no memory for these rows");
    }
    mem->release(mem->ctx, rows);
}

/* ---- the document ---- */

static void read_format(tide_digest_reader *in, void *to) {
    char text[32];
    size_t at = in->json.at;
    (void)to;
    if (strcmp(tide_json_get_short_text(&in->json, text, sizeof(text)), "tidemark-digest") != 0) {
        tide_json_fail(&in->json, TIDE_FORMAT, at, "this is not a digest");
    }
}

static void read_version(tide_digest_reader *in, void *to) {
    size_t at = in->json.at;
    (void)to;
    int64_t version = tide_json_get_integer(&in->json, 1, INT64_MAX);
    if (version > TIDE_DIGEST_VERSION) {
        tide_json_fail(&in->json, TIDE_UNSUPPORTED, at,
                       "the digest has version %" PRId64 ", this tidemark reads up to %d", version,
                       TIDE_DIGEST_VERSION);
    }
}

static void read_tool(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_TEXT_AT("version", tide_digest, tool_version),
        TIDE_DIGEST_TEXT_AT("build", tide_digest, tool_build)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, to);
}

static void read_source(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_TEXT_AT("file", tide_digest, file),
        TIDE_DIGEST_TEXT_AT("format", tide_digest, format),
        TIDE_DIGEST_TEXT_AT("command", tide_digest, command),
        TIDE_DIGEST_NUMBER_AT("started_unix_us", tide_digest, started_unix_us),
        TIDE_DIGEST_TEXT_AT("outcome", tide_digest, outcome)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, to);
}

static void read_host(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {TIDE_DIGEST_TEXT_AT("name", tide_digest, host_name),
                                               TIDE_DIGEST_TEXT_AT("os", tide_digest, host_os),
                                               TIDE_DIGEST_TEXT_AT("cpu", tide_digest, host_cpu)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, to);
}

static void read_group(tide_digest_reader *in, void *row) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_TEXT_AT("name", tide_snapshot_group, name),
        TIDE_DIGEST_TEXT_AT("description", tide_snapshot_group, description),
        TIDE_DIGEST_NUMBER_AT("size", tide_snapshot_group, size),
        TIDE_DIGEST_NUMBER_AT("position", tide_snapshot_group, position),
        TIDE_DIGEST_NUMBER_AT("first", tide_snapshot_group, first),
        TIDE_DIGEST_NUMBER_AT("stride", tide_snapshot_group, stride)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, row);
}

static void read_groups(tide_digest_reader *in, void *to) {
    static const tide_snapshot_group EMPTY = {"", "", -1, -1, -1, 0};
    tide_digest *digest = to;
    tide_digest_list rows = {sizeof(EMPTY), MOST_DEVICES, &EMPTY, read_group, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->rank.groups = rows.rows;
    digest->rank.n_groups = rows.n;
}

static void read_rank(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("rank", tide_digest, rank.rank),
        TIDE_DIGEST_NUMBER_AT("local_rank", tide_digest, rank.local_rank),
        TIDE_DIGEST_NUMBER_AT("world_size", tide_digest, rank.world_size),
        TIDE_DIGEST_PART_AT("groups", read_groups),
        TIDE_DIGEST_TEXT_AT("node", tide_digest, node),
        TIDE_DIGEST_TEXT_AT("from", tide_digest, from)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, to);
}

static void read_settings(tide_digest_reader *in, const tide_snapshot_setting **ret_rows,
                          size_t *ret_n) {
    const tide_hostmem *mem = in->arena->mem;
    tide_snapshot_setting *rows = NULL;
    const char *key = NULL;
    size_t n = 0, capacity = 0;
    tide_json_enter_object(&in->json);
    while ((key = tide_json_next_key(&in->json, in->arena)) != NULL) {
        void *grown =
            n < MOST_OTHERS ? tide_hostmem_grow(mem, rows, &capacity, n + 1, sizeof(*rows)) : NULL;
        if (grown == NULL) {
            tide_json_fail(&in->json, n < MOST_OTHERS ? TIDE_NO_MEMORY : TIDE_LIMIT, in->json.at,
                           "more than the limit of %d of them", (int)MOST_OTHERS);
            break;
        }
        rows = grown;
        rows[n] = (tide_snapshot_setting){.name = key};
        if (tide_json_peek(&in->json) == TIDE_JSON_STRING) {
            rows[n].text = tide_json_get_text(&in->json, in->arena);
        } else {
            rows[n].number = tide_json_get_real(&in->json);
        }
        n++;
    }
    *ret_rows = tide_arena_copy(in->arena, rows, n, sizeof(*rows));
    *ret_n = *ret_rows != NULL ? n : 0;
    mem->release(mem->ctx, rows);
}

static void read_software(tide_digest_reader *in, void *to) {
    tide_digest *digest = to;
    read_settings(in, &digest->software, &digest->n_software);
}

static void read_allocator(tide_digest_reader *in, void *to) {
    tide_digest *digest = to;
    read_settings(in, &digest->settings, &digest->n_settings);
}

static void read_devices(tide_digest_reader *in, void *to) {
    static const tide_digest_device EMPTY = {
        .kind = "",
        .name = "",
        .total_bytes = -1,
        .peak = {.event = -1, .time_ns = -1, .step = -1, .phase = ""},
        .headroom_bytes = -1,
        .low_bytes = -1,
        .high_bytes = -1,
        .reserved_low_bytes = -1,
        .reserved_high_bytes = -1,
        .oom = {.event = -1, .time_ns = -1, .line = ""},
        .growth = {.since_step = -1, .line = ""},
        .timeline_begin_unix_us = -1,
    };
    tide_digest *digest = to;
    tide_digest_list rows = {sizeof(EMPTY), MOST_DEVICES, &EMPTY, tide_digest_read_device, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->devices = rows.rows;
    digest->n_devices = rows.n;
}

/* An owner as it stands in the file: its device has the type of every number there. */
typedef struct owner_row {
    tide_snapshot_owner owner;
    int64_t device;
} owner_row;

static void read_owner(tide_digest_reader *in, void *row) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_TEXT_AT("name", owner_row, owner.name),
        TIDE_DIGEST_NUMBER_AT("device", owner_row, device),
        TIDE_DIGEST_NUMBER_AT("peak_bytes", owner_row, owner.peak_bytes),
        TIDE_DIGEST_NUMBER_AT("end_bytes", owner_row, owner.end_bytes),
        TIDE_DIGEST_NUMBER_AT("allocations", owner_row, owner.n_allocations)};
    owner_row made = {{"", 0, -1, -1, -1}, 0};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 1, &made);
    made.owner.device = (uint32_t)(made.device & 255);
    *(tide_snapshot_owner *)row = made.owner;
}

static void read_owners(tide_digest_reader *in, void *to) {
    static const tide_snapshot_owner EMPTY = {"", 0, -1, -1, -1};
    tide_digest *digest = to;
    tide_digest_list rows = {sizeof(EMPTY), MOST_OTHERS, &EMPTY, read_owner, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->owners = rows.rows;
    digest->n_owners = rows.n;
}

static void read_inexact_row(tide_digest_reader *in, void *row) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_TEXT_AT("call", tide_snapshot_inexact, call),
        TIDE_DIGEST_TEXT_AT("what", tide_snapshot_inexact, what),
        TIDE_DIGEST_NUMBER_AT("bound_bytes", tide_snapshot_inexact, bound_bytes)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, row);
}

static void read_inexact(tide_digest_reader *in, void *to) {
    static const tide_snapshot_inexact EMPTY = {"", "", -1, false};
    tide_digest *digest = to;
    tide_digest_list rows = {sizeof(EMPTY), MOST_OTHERS, &EMPTY, read_inexact_row, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->inexact = rows.rows;
    digest->n_inexact = rows.n;
}

static void read_document(tide_digest_reader *in, tide_digest *digest) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_PART_AT("format", read_format),
        TIDE_DIGEST_PART_AT("version", read_version),
        TIDE_DIGEST_PART_AT("devices", read_devices),
        TIDE_DIGEST_PART_AT("tool", read_tool),
        TIDE_DIGEST_PART_AT("source", read_source),
        TIDE_DIGEST_PART_AT("rank", read_rank),
        TIDE_DIGEST_PART_AT("host", read_host),
        TIDE_DIGEST_PART_AT("software", read_software),
        TIDE_DIGEST_PART_AT("settings", read_allocator),
        TIDE_DIGEST_PART_AT("owners", read_owners),
        TIDE_DIGEST_PART_AT("inexact", read_inexact),
    };
    enum { FORMAT_VERSION_DEVICES = 7 };
    *digest = (tide_digest){.tool_version = "",
                            .tool_build = "",
                            .file = "",
                            .format = "",
                            .command = "",
                            .outcome = "",
                            .started_unix_us = -1,
                            .rank = {-1, -1, -1, NULL, 0},
                            .node = "",
                            .from = TIDE_RANK_UNKNOWN,
                            .host_name = "",
                            .host_os = "",
                            .host_cpu = ""};
    in->json.text_limit = TEXT_BYTES;
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), FORMAT_VERSION_DEVICES, digest);
    tide_json_expect_end(&in->json);
}

tide_status tide_digest_read(const char *text, size_t n_bytes, tide_arena *arena,
                             tide_digest **ret_digest, tide_error *error) {
    tide_digest_reader in = {.arena = arena};
    tide_digest *digest = tide_arena_alloc(arena, 1, sizeof(*digest));
    if (digest == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_init(&in.json, text, n_bytes, error);
    read_document(&in, digest);
    tide_status status = tide_json_status(&in.json);
    if (status == TIDE_OK) {
        *ret_digest = digest;
    }
    return status;
}

tide_status tide_digest_load(const char *path, tide_arena *arena, tide_digest **ret_digest,
                             tide_error *error) {
    tide_gzip_reader *file = NULL;
    tide_digest_reader in = {.arena = arena};
    tide_digest *digest = tide_arena_alloc(arena, 1, sizeof(*digest));
    if (digest == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory left to read '%s'", path);
    }
    TIDE_TRY(tide_gzip_reader_open(path, arena->mem, TIDE_DIGEST_READ_BYTES, &file, error));
    const tide_source source = {.read = tide_gzip_reader_read, .ctx = file};
    tide_json_open(&in.json, &source, arena->mem, error);
    read_document(&in, digest);
    tide_status status = tide_json_status(&in.json);
    tide_json_close(&in.json);
    tide_gzip_reader_close(file);
    if (status == TIDE_OK) {
        *ret_digest = digest;
    } else if (error != NULL && strncmp(error->message, "cannot read", 11) != 0) {
        tide_error_prefix(error, "cannot read '%s'", path);
    }
    return status;
}

bool tide_digest_is(const char *path) {
    static const char KEY[] = "\"tidemark-digest\"";
    char bytes[BEGIN + 1];
    tide_gzip_reader *file = NULL;
    size_t n = 0, n_more = 1;
    if (tide_gzip_reader_open(path, tide_hostmem_default(), TIDE_DIGEST_READ_BYTES, &file, NULL) !=
        TIDE_OK) {
        return false;
    }
    while (n < BEGIN && n_more > 0 &&
           tide_gzip_reader_read(file, bytes + n, BEGIN - n, &n_more, NULL) == TIDE_OK) {
        n += n_more;
    }
    tide_gzip_reader_close(file);
    bytes[n] = '\0';
    return bytes[0] == '{' && strstr(bytes, KEY) != NULL;
}
