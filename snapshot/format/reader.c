#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/document/categories.h"
#include "snapshot/analysis/category_rules.h"
#include "snapshot/format/gzip_file.h"
#include "snapshot/kinds/beginning.h"
#include "snapshot/kinds/page_source.h"
#include "snapshot/pytorch/import.h"
#include "snapshot/format/reader_keys_internal.h"
#include "snapshot/document/validate.h"

enum { ADDRESS_UNIT_BYTES = 512, NAME_BYTES = 64 };

/* Of the uncompressed text: about 50 million events. */
#define MAX_DOCUMENT_BYTES ((size_t)1 << 31)

/* The offset of a place that proved wrong only after the whole file was read. The text is not kept,
 * so this reads the file again, up to the place. 0: the place is not found, or the path is a pipe,
 * which can be read only once. */
static size_t find_place(const tide_reader *reader, const char *place) {
    tide_gzip_reader *file = NULL;
    tide_json json;
    if (!tide_gzip_reader_can_repeat(reader->path) ||
        tide_gzip_reader_open(reader->path, reader->mem, MAX_DOCUMENT_BYTES, &file, NULL) !=
            TIDE_OK) {
        return 0;
    }
    const tide_source source = {.read = tide_gzip_reader_read, .ctx = file};
    tide_json_open(&json, &source, reader->mem, NULL);
    size_t at = tide_json_find(&json, place);
    tide_json_close(&json);
    tide_gzip_reader_close(file);
    return at;
}

void tide_reader_fail_at(tide_reader *reader, const char *place, const char *message) {
    if (tide_json_status(&reader->json) != TIDE_OK) {
        return;
    }
    size_t at = find_place(reader, place);
    reader->json.status =
        tide_fail(reader->json.error, TIDE_FORMAT, "byte %zu, %s: %s", at, place, message);
}

void tide_read_document_format(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    size_t at = reader->json.at;
    char text[NAME_BYTES];
    const char *format = tide_json_get_short_text(&reader->json, text, sizeof(text));
    if (strcmp(format, "tidemark-snapshot") != 0) {
        tide_json_fail(&reader->json, TIDE_FORMAT, at, "this is not a tidemark snapshot");
    }
}

void tide_read_document_version(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    size_t at = reader->json.at;
    int64_t version = tide_json_get_integer(&reader->json, 1, INT64_MAX);
    if (version > TIDE_SNAPSHOT_VERSION) {
        tide_json_fail(&reader->json, TIDE_UNSUPPORTED, at,
                       "the file has version %" PRId64
                       ", this tidemark reads up to %d: use a newer one",
                       version, TIDE_SNAPSHOT_VERSION);
    }
}

void tide_read_document_address_unit_bytes(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    size_t at = reader->json.at;
    reader->unit_bytes = tide_json_get_integer(&reader->json, 1, ADDRESS_UNIT_BYTES);
    if (reader->unit_bytes != 1 && reader->unit_bytes != ADDRESS_UNIT_BYTES) {
        tide_json_fail(&reader->json, TIDE_FORMAT, at, "only 1 and 512 are allowed");
    }
}

/* Reads a name table. An unknown name counts as `other`. */
static void read_names(tide_reader *reader, tide_name_map *map, int (*number_of)(const char *),
                       uint8_t other) {
    map->given = true;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json)) {
        size_t at = reader->json.at;
        char text[NAME_BYTES];
        const char *name = tide_json_get_short_text(&reader->json, text, sizeof(text));
        if (map->n == TIDE_MAX_NAMES) {
            tide_json_fail(&reader->json, TIDE_LIMIT, at, "more than the limit of %d names",
                           TIDE_MAX_NAMES);
            return;
        }
        int number = number_of(name);
        map->to[map->n++] = number >= 0 ? (uint8_t)number : other;
    }
}

void tide_read_document_actions(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    read_names(reader, &reader->actions, tide_action_from_name, TIDE_NO_NUMBER);
}

/* Keeps a category that tidemark does not know under its own name. */
void tide_read_document_categories(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    tide_name_map *map = &reader->categories;
    tide_category_list own = {.n = 0};
    map->given = true;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json)) {
        size_t at = reader->json.at;
        const char *name = tide_json_get_text(&reader->json, &snapshot->arena);
        tide_error reason = {.message = ""};
        if (map->n == TIDE_MAX_NAMES) {
            tide_json_fail(&reader->json, TIDE_LIMIT, at, "more than the limit of %d names",
                           TIDE_MAX_NAMES);
            return;
        }
        if (tide_category_list_number(&own, name, &map->to[map->n++], &reason) != TIDE_OK) {
            tide_json_fail(&reader->json, TIDE_LIMIT, at, "%s", reason.message);
            return;
        }
    }
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
    if (tide_category_list_store(&own, snapshot) != TIDE_OK) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at,
                       "no memory for the categories");
    }
}

void tide_read_document_scope_kinds(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    read_names(reader, &reader->scope_kinds, tide_scope_kind_from_name, TIDE_SCOPE_USER);
}

void tide_read_document_block_states(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    read_names(reader, &reader->block_states, tide_block_state_from_name, TIDE_NO_NUMBER);
}

/* Maps a number of the file to ours; TIDE_NO_NUMBER if its name is unknown or missing. */
static uint8_t translate(const tide_name_map *map, uint8_t number) {
    if (!map->given) {
        return number;
    }
    return number < map->n ? map->to[number] : TIDE_NO_NUMBER;
}

static void translate_blocks(tide_reader *reader, tide_block_row *blocks, size_t n_blocks) {
    for (size_t i = 0; i < n_blocks; i++) {
        blocks[i].state = translate(&reader->block_states, blocks[i].state);
        blocks[i].category = translate(&reader->categories, blocks[i].category);
    }
}

static void fail_untranslated(tide_reader *reader, const char *column, size_t row,
                              const char *map) {
    char place[TIDE_PLACE_BYTES];
    char reason[TIDE_PLACE_BYTES];
    snprintf(place, sizeof(place), "%s[%zu]", column, row);
    snprintf(reason, sizeof(reason), "the file's '%s' has no known name for it", map);
    tide_reader_fail_at(reader, place, reason);
}

/* Replaces the file's numbers by ours. Waits until the whole document is read: keys come in any
 * order, so a name table may follow the columns that use it. An unknown number in a block stays
 * TIDE_NO_NUMBER, which the validation refuses with its place. */
static void translate_numbers(tide_reader *reader) {
    tide_snapshot *snapshot = reader->snapshot;
    size_t n = snapshot->n_events;
    size_t action = tide_reader_translate_events(&reader->actions, snapshot->events.action, n);
    size_t category =
        tide_reader_translate_events(&reader->categories, snapshot->events.category, n);
    if (action < n || category < n) {
        bool is_action = action <= category;
        fail_untranslated(reader, is_action ? "events.action" : "events.category",
                          is_action ? action : category, is_action ? "actions" : "categories");
        return;
    }
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        reader->scopes[i].kind = translate(&reader->scope_kinds, reader->scopes[i].kind);
        if (reader->scopes[i].kind == TIDE_NO_NUMBER) {
            fail_untranslated(reader, "scopes.kind", i, "scope_kinds");
            return;
        }
    }
    translate_blocks(reader, reader->start_blocks, snapshot->n_start_blocks);
    translate_blocks(reader, reader->end_blocks, snapshot->n_end_blocks);
}

static void fail_address(tide_reader *reader, const char *column, size_t row) {
    char place[TIDE_PLACE_BYTES];
    snprintf(place, sizeof(place), "%s[%zu]", column, row);
    tide_reader_fail_at(reader, place, "an address beyond 2^63 - 1");
}

/* Converts addresses from units to bytes; false if one is beyond 2^63 - 1. */
static bool scale(tide_reader *reader, uint64_t *address, const char *column, size_t row) {
    uint64_t unit_bytes = (uint64_t)reader->unit_bytes;
    if (*address > (uint64_t)INT64_MAX / unit_bytes) {
        fail_address(reader, column, row);
        return false;
    }
    *address *= unit_bytes;
    return true;
}

static void scale_addresses(tide_reader *reader) {
    const tide_snapshot *snapshot = reader->snapshot;
    size_t bad = tide_reader_scale_events(snapshot, (uint64_t)reader->unit_bytes);
    if (bad < snapshot->n_events) {
        fail_address(reader, "events.address_delta", bad);
        return;
    }
    for (size_t i = 0; i < snapshot->n_start_segments; i++) {
        if (!scale(reader, &reader->start_segments[i].address, "start.segments", i)) {
            return;
        }
    }
    for (size_t i = 0; i < snapshot->n_end_segments; i++) {
        if (!scale(reader, &reader->end_segments[i].address, "end.segments", i)) {
            return;
        }
    }
}

static tide_status validate(tide_reader *reader, tide_error *error) {
    char place[TIDE_PLACE_BYTES] = "";
    tide_status status = tide_snapshot_validate(reader->snapshot, place, error);
    if (status != TIDE_OK) {
        size_t at = find_place(reader, place);
        tide_error_prefix(error, "byte %zu, %s", at, place);
    }
    return status;
}

/* Reads a document of our own format. (PyTorch's JSON goes to pytorch/import.c.) */
static tide_status read_json(tide_snapshot *snapshot, const char *path, const tide_source *source,
                             tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_reader *reader = tide_hostmem_zeroed(mem, 1, sizeof(*reader));
    if (reader == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_open(&reader->json, source, mem, error);
    reader->path = path;
    reader->mem = mem;
    reader->column.mem = mem;
    reader->snapshot = snapshot;
    tide_read_object(reader, &tide_readable_document, snapshot);
    tide_json_expect_end(&reader->json);
    if (tide_json_status(&reader->json) == TIDE_OK) {
        translate_numbers(reader);
        scale_addresses(reader);
    }
    tide_status status = tide_json_status(&reader->json);
    if (status == TIDE_OK) {
        status = validate(reader, error);
    }
    if (status == TIDE_OK) {
        snapshot->n_odd = reader->json.n_odd;
        snapshot->first_odd = tide_arena_text(&snapshot->arena, reader->json.first_odd);
        status = snapshot->first_odd != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    }
    tide_json_close(&reader->json);
    mem->release(mem->ctx, reader->column.values);
    mem->release(mem->ctx, reader);
    return status;
}

/* PyTorch does not record the use of its blocks. */
static tide_status name_by_rule(tide_snapshot *snapshot, tide_error *error) {
    tide_rules *rules = NULL;
    TIDE_TRY(tide_rules_create(NULL, snapshot->arena.mem, &rules, error));
    tide_status status = tide_rules_apply(rules, snapshot, error);
    tide_rules_destroy(rules);
    return status;
}

/* A file that is not a snapshot, with what to do instead. */
static tide_status refuse(tide_kind kind, const char *path, tide_error *error) {
    const char *advice = tide_kind_advice(kind);
    if (kind == TIDE_KIND_EMPTY) {
        return tide_fail(error, TIDE_FORMAT, "'%s' is empty, not a snapshot", path);
    }
    if (kind == TIDE_KIND_UNKNOWN || kind == TIDE_KIND_TEXT) {
        return tide_fail(error, TIDE_FORMAT,
                         "'%s' is not a snapshot: it holds neither gzip nor a JSON object nor a "
                         "pickle by PyTorch%s",
                         path,
                         kind == TIDE_KIND_TEXT
                             ? "; `tidemark explain` reads what a log says about memory"
                             : "");
    }
    if (advice[0] == '\0' && tide_kind_recorder(kind)[0] == '\0') {
        advice = "`tidemark explain` says what is in it";
    }
    return tide_fail(error, TIDE_FORMAT, "'%s' is %s, not a snapshot: %s%s", path,
                     tide_kind_name(kind), advice, tide_kind_recorder(kind));
}

/* Reads a snapshot. The first bytes decide the format, not the file's name. */
static tide_status read_snapshot(tide_snapshot *snapshot, const char *path,
                                 tide_beginning *beginning, tide_error *error) {
    const tide_source source = tide_beginning_source(beginning);
    const char *first = beginning->bytes + strspn(beginning->bytes, " \t\r\n");
    if (beginning->kind == TIDE_KIND_PICKLE) {
        TIDE_TRY(tide_pytorch_import_pickle(&source, snapshot, error));
        return name_by_rule(snapshot, error);
    }
    if (beginning->kind == TIDE_KIND_DOCUMENT && tide_pytorch_is_json(first)) {
        TIDE_TRY(tide_pytorch_import_json(&source, snapshot, error));
        return name_by_rule(snapshot, error);
    }
    if (beginning->kind == TIDE_KIND_DOCUMENT) {
        return read_json(snapshot, path, &source, error);
    }
    return refuse(beginning->kind, path, error);
}

/* Reads the first snapshot inside of a page. */
static tide_status read_page(tide_snapshot *snapshot, const char *path, tide_beginning *outer,
                             tide_error *error) {
    const tide_hostmem *mem = snapshot->arena.mem;
    const tide_source text = tide_beginning_source(outer);
    tide_gzip_reader *part = NULL;
    tide_beginning beginning;
    tide_page_source *page = mem->alloc(mem->ctx, sizeof(*page));
    if (page == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_page_source_init(page, outer->kind, &text);
    const tide_source inner = {.read = tide_page_source_read, .ctx = page};
    tide_status status =
        tide_gzip_reader_open_part(path, &inner, mem, MAX_DOCUMENT_BYTES, &part, error);
    if (status == TIDE_OK) {
        status = tide_beginning_init(
            &beginning, (tide_source){.read = tide_gzip_reader_read, .ctx = part}, error);
    }
    if (status == TIDE_OK) {
        status = read_snapshot(snapshot, path, &beginning, error);
    }
    tide_gzip_reader_close(part);
    mem->release(mem->ctx, page);
    return status;
}

static tide_status read_file(tide_snapshot *snapshot, const char *path, tide_gzip_reader *file,
                             tide_error *error) {
    tide_beginning beginning;
    TIDE_TRY(tide_beginning_init(&beginning,
                                 (tide_source){.read = tide_gzip_reader_read, .ctx = file}, error));
    if (beginning.kind == TIDE_KIND_OWN_PAGE || beginning.kind == TIDE_KIND_VIZ_PAGE) {
        return read_page(snapshot, path, &beginning, error);
    }
    return read_snapshot(snapshot, path, &beginning, error);
}

/* Some callees know the file's name and put it at the start of their message. */
static bool names_the_file(const tide_error *error) {
    return error != NULL && (error->message[0] == '\'' || strncmp(error->message, "cannot read '",
                                                                  strlen("cannot read '")) == 0);
}

/* The caller adds the message for TIDE_NO_MEMORY. */
static tide_status load(const char *path, const tide_hostmem *mem, tide_snapshot **ret_snapshot,
                        tide_error *error) {
    tide_gzip_reader *file = NULL;
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_gzip_reader_open(path, mem, MAX_DOCUMENT_BYTES, &file, error));
    tide_status status = tide_snapshot_create(mem, &snapshot);
    if (status == TIDE_OK) {
        status = read_file(snapshot, path, file, error);
        if (status == TIDE_OK) {
            *ret_snapshot = snapshot;
        } else {
            if (status != TIDE_NO_MEMORY && !names_the_file(error)) {
                tide_error_prefix(error, "cannot read '%s'", path);
            }
            tide_snapshot_destroy(snapshot);
        }
    }
    tide_gzip_reader_close(file);
    return status;
}

tide_status tide_snapshot_load(const char *path, const tide_hostmem *mem,
                               tide_snapshot **ret_snapshot, tide_error *error) {
    tide_status status =
        load(path, mem != NULL ? mem : tide_hostmem_default(), ret_snapshot, error);
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "no host memory left to read '%s'", path)
               : status;
}
