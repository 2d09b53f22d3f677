/* Reads the file of a digest, which has not been checked. */
#include <inttypes.h>
#include <string.h>

#include "snapshot/ranks/digest_reader_internal.h"
#include "snapshot/format/gzip_file.h"

enum { MOST_DEVICES = 256, MOST_OTHERS = 1024, TEXT_BYTES = 4096, BEGIN = 256, WORD_BYTES = 32 };

/* The least number of each kind. */
#define LEAST_NUMBER (-1)
#define LEAST_COUNT 0
#define LEAST_SIGNED (-TIDE_DIGEST_MOST_NUMBER)
#define LEAST_TEXT 0
#define LEAST_CUT_TEXT 0

#define OBJECT(object, type, place)                                                                \
    typedef type type_of_##object;                                                                 \
    static const tide_digest_readable_key keys_of_##object[] = {
#define KEY(object, key, kind, member, presence, meaning)                                          \
    {#key,                                                                                         \
     offsetof(type_of_##object, member),                                                           \
     KIND_##kind >= KIND_NUMBER,                                                                   \
     LEAST_##kind,                                                                                 \
     PRESENCE_##presence,                                                                          \
     NULL},
#define PART(object, key, shape, presence, meaning)                                                \
    {#key, 0, false, 0, PRESENCE_##presence, tide_digest_read_##object##_##key},
#define END(object)                                                                                \
    }                                                                                              \
    ;                                                                                              \
    const tide_digest_readable tide_digest_readable_##object = {                                   \
        keys_of_##object, sizeof(keys_of_##object) / sizeof(keys_of_##object[0])};
enum { KIND_TEXT, KIND_CUT_TEXT, KIND_NUMBER, KIND_COUNT, KIND_SIGNED };
enum { PRESENCE_OPTIONAL, PRESENCE_REQUIRED };
#include "snapshot/ranks/digest.def"

void tide_digest_read_object(tide_digest_reader *in, const tide_digest_readable *of, void *to) {
    const char *names[TIDE_JSON_MAX_FIELDS];
    uint64_t required = 0;
    int at = -1;
    for (size_t i = 0; i < of->n_keys; i++) {
        names[i] = of->keys[i].name;
        required |= of->keys[i].is_required ? UINT64_C(1) << i : 0;
    }
    tide_json_enter_object(&in->json);
    while ((at = tide_json_next_field(&in->json, names, of->n_keys, required)) >= 0) {
        const tide_digest_readable_key *key = &of->keys[at];
        void *member = (char *)to + key->offset;
        if (key->read != NULL) {
            key->read(in, to);
        } else if (key->is_number) {
            *(int64_t *)member =
                tide_json_get_integer(&in->json, key->least, TIDE_DIGEST_MOST_NUMBER);
        } else {
            *(const char **)member = tide_json_get_text(&in->json, in->arena);
        }
    }
}

void tide_digest_fail_length(tide_digest_reader *in) {
    tide_json_fail(&in->json, TIDE_LIMIT, in->json.at,
                   "a digest with more than the limit of %d bytes of text",
                   (int)TIDE_DIGEST_READ_BYTES);
}

void tide_digest_read_list(tide_digest_reader *in, tide_digest_list *to) {
    const tide_hostmem *mem = in->arena->mem;
    char *rows = NULL;
    size_t capacity = 0;
    tide_json_enter_array(&in->json);
    while (tide_json_next_item(&in->json)) {
        if (in->json.at > in->limit_at) {
            tide_digest_fail_length(in);
            break;
        }
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
        tide_digest_read_object(in, to->of, rows + to->n * to->row_bytes);
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

void tide_digest_read_document_format(tide_digest_reader *in, void *to) {
    char text[WORD_BYTES];
    size_t at = in->json.at;
    (void)to;
    if (strcmp(tide_json_get_short_text(&in->json, text, sizeof(text)), "tidemark-digest") != 0) {
        tide_json_fail(&in->json, TIDE_FORMAT, at, "this is not a digest");
    }
}

void tide_digest_read_document_version(tide_digest_reader *in, void *to) {
    size_t at = in->json.at;
    (void)to;
    int64_t version = tide_json_get_integer(&in->json, 1, INT64_MAX);
    if (version > TIDE_DIGEST_VERSION) {
        tide_json_fail(&in->json, TIDE_UNSUPPORTED, at,
                       "the digest has version %" PRId64 ", this tidemark reads up to %d", version,
                       TIDE_DIGEST_VERSION);
    }
}

void tide_digest_read_document_tool(tide_digest_reader *in, void *digest) {
    tide_digest_read_object(in, &tide_digest_readable_tool, digest);
}

void tide_digest_read_document_source(tide_digest_reader *in, void *digest) {
    tide_digest_read_object(in, &tide_digest_readable_source, digest);
}

void tide_digest_read_document_host(tide_digest_reader *in, void *digest) {
    tide_digest_read_object(in, &tide_digest_readable_host, digest);
}

void tide_digest_read_rank_groups(tide_digest_reader *in, void *to) {
    static const tide_snapshot_group EMPTY = {"", "", -1, -1, -1, 0};
    tide_digest *digest = to;
    tide_digest_list rows = {
        &tide_digest_readable_group, sizeof(EMPTY), MOST_DEVICES, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->rank.groups = rows.rows;
    digest->rank.n_groups = rows.n;
}

void tide_digest_read_document_rank(tide_digest_reader *in, void *digest) {
    tide_digest_read_object(in, &tide_digest_readable_rank, digest);
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

void tide_digest_read_document_software(tide_digest_reader *in, void *to) {
    tide_digest *digest = to;
    read_settings(in, &digest->software, &digest->n_software);
}

void tide_digest_read_document_settings(tide_digest_reader *in, void *to) {
    tide_digest *digest = to;
    read_settings(in, &digest->settings, &digest->n_settings);
}

void tide_digest_read_document_devices(tide_digest_reader *in, void *to) {
    static const tide_digest_device EMPTY = {
        .kind = "",
        .name = "",
        .total_bytes = -1,
        .n_events = -1,
        .n_dropped = -1,
        .peak = {.event = -1, .time_ns = -1, .step = -1, .phase = ""},
        .headroom_bytes = -1,
        .low_bytes = -1,
        .high_bytes = -1,
        .reserved_low_bytes = -1,
        .reserved_high_bytes = -1,
        .oom = {.event = -1, .time_ns = -1, .requested_bytes = -1, .free_bytes = -1, .line = ""},
        .explained = {.failure = {-1, -1, -1, -1, -1, -1, -1, 0, ""}},
        .timeline_begin_unix_us = -1,
    };
    tide_digest *digest = to;
    tide_digest_list rows = {
        &tide_digest_readable_device, sizeof(EMPTY), MOST_DEVICES, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->devices = rows.rows;
    digest->n_devices = rows.n;
}

/* In a file its type is that of every number. */
void tide_digest_read_owner_device(tide_digest_reader *in, void *owner) {
    int64_t device =
        tide_json_get_integer(&in->json, -TIDE_DIGEST_MOST_NUMBER, TIDE_DIGEST_MOST_NUMBER);
    ((tide_snapshot_owner *)owner)->device = (uint32_t)(device & 255);
}

void tide_digest_read_document_owners(tide_digest_reader *in, void *to) {
    static const tide_snapshot_owner EMPTY = {"", 0, -1, -1, -1};
    tide_digest *digest = to;
    tide_digest_list rows = {
        &tide_digest_readable_owner, sizeof(EMPTY), MOST_OTHERS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->owners = rows.rows;
    digest->n_owners = rows.n;
}

void tide_digest_read_document_inexact(tide_digest_reader *in, void *to) {
    static const tide_snapshot_inexact EMPTY = {"", "", -1, false};
    tide_digest *digest = to;
    tide_digest_list rows = {
        &tide_digest_readable_inexact, sizeof(EMPTY), MOST_OTHERS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    digest->inexact = rows.rows;
    digest->n_inexact = rows.n;
}

void tide_digest_read_whole(tide_digest_reader *in, tide_digest *digest) {
    *digest = (tide_digest){.tool_version = "",
                            .tool_build = "",
                            .file = "",
                            .format = "",
                            .command = "",
                            .outcome = "",
                            .started_unix_us = -1,
                            .ended = "",
                            .ended_unix_us = -1,
                            .rank = {-1, -1, -1, NULL, 0},
                            .node = "",
                            .from = TIDE_RANK_UNKNOWN,
                            .host_name = "",
                            .host_os = "",
                            .host_cpu = ""};
    in->json.text_limit = TEXT_BYTES;
    tide_digest_read_object(in, &tide_digest_readable_document, digest);
}

tide_status tide_digest_read(const char *text, size_t n_bytes, tide_arena *arena,
                             tide_digest **ret_digest, tide_error *error) {
    tide_digest_reader in = {.arena = arena, .limit_at = SIZE_MAX};
    tide_digest *digest = tide_arena_alloc(arena, 1, sizeof(*digest));
    if (digest == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_init(&in.json, text, n_bytes, error);
    tide_digest_read_whole(&in, digest);
    tide_json_expect_end(&in.json);
    tide_status status = tide_json_status(&in.json);
    if (status == TIDE_OK) {
        *ret_digest = digest;
    }
    return status;
}

void tide_digest_name_file(tide_error *error, const char *path) {
    if (error != NULL && strncmp(error->message, "cannot read", 11) != 0) {
        tide_error_prefix(error, "cannot read '%s'", path);
    }
}

tide_status tide_digest_load(const char *path, tide_arena *arena, tide_digest **ret_digest,
                             tide_error *error) {
    tide_gzip_reader *file = NULL;
    tide_digest_reader in = {.arena = arena, .limit_at = SIZE_MAX};
    tide_digest *digest = tide_arena_alloc(arena, 1, sizeof(*digest));
    if (digest == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory left to read '%s'", path);
    }
    TIDE_TRY(tide_gzip_reader_open(path, arena->mem, TIDE_DIGEST_READ_BYTES, &file, error));
    const tide_source source = {.read = tide_gzip_reader_read, .ctx = file};
    tide_json_open(&in.json, &source, arena->mem, error);
    tide_digest_read_whole(&in, digest);
    tide_json_expect_end(&in.json);
    tide_status status = tide_json_status(&in.json);
    tide_json_close(&in.json);
    tide_gzip_reader_close(file);
    if (status == TIDE_OK) {
        *ret_digest = digest;
    } else {
        tide_digest_name_file(error, path);
    }
    return status;
}

tide_status tide_digest_format(const char *path, const tide_hostmem *mem, char *word, size_t n_room,
                               tide_error *error) {
    const char *const first_key = keys_of_document[0].name; /* that is the format */
    char bytes[BEGIN];
    tide_gzip_reader *file = NULL;
    tide_json json;
    size_t n = 0, n_more = 1;
    TIDE_TRY(tide_gzip_reader_open(path, mem, TIDE_DIGEST_READ_BYTES, &file, error));
    tide_status status = TIDE_OK;
    while (n < BEGIN && n_more > 0 && status == TIDE_OK) {
        status = tide_gzip_reader_read(file, bytes + n, BEGIN - n, &n_more, error);
        n += status == TIDE_OK ? n_more : 0;
    }
    tide_gzip_reader_close(file);
    if (status != TIDE_OK) {
        tide_digest_name_file(error, path);
    }
    word[0] = '\0';
    tide_json_init(&json, bytes, n, NULL);
    tide_json_enter_object(&json);
    if (tide_json_next_field(&json, &first_key, 1, 0) == 0) {
        (void)tide_json_get_short_text(&json, word, n_room);
    }
    return status;
}

bool tide_digest_is(const char *path) {
    char word[WORD_BYTES];
    return tide_digest_format(path, tide_hostmem_default(), word, sizeof(word), NULL) == TIDE_OK &&
           strcmp(word, "tidemark-digest") == 0;
}
