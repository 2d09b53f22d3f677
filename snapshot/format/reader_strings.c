/* The table of texts, and the text of lines. Equal texts are stored once, and the number of
 * repeated texts is limited: otherwise a file of only empty texts, which compress to almost
 * nothing, would take a thousand times its size in memory. */
#include <string.h>

#include "common/map.h"
#include "snapshot/document/source.h"
#include "snapshot/format/json_friend.h"
#include "snapshot/format/reader_keys_internal.h"

enum { MAX_REPEATED = 1 << 20 }; /* texts that are already in the table */

/* Of all texts together. */
#define MAX_TEXT_BYTES ((size_t)512 << 20)

typedef struct string_table {
    tide_reader *reader; /* borrowed */
    const char **texts;  /* owned */
    size_t n_texts;
    size_t capacity;
    size_t n_repeated; /* texts that were already in the table */
    size_t n_bytes;    /* of the distinct ones */
    tide_map by_hash;  /* -> index in texts; a collision adds 1 to the hash */
    char *buffer;      /* owned: the text being read */
    size_t buffer_capacity;
} string_table;

/* Reads the next text into the buffer; false after a failure. */
static bool take_text(string_table *table, size_t *ret_bytes) {
    tide_json *json = &table->reader->json;
    size_t at = 0;
    size_t size = 0;
    if (!tide_json_take_raw_text(json, &at, &size)) {
        return false;
    }
    char *buffer =
        tide_hostmem_grow(table->reader->mem, table->buffer, &table->buffer_capacity, size + 1, 1);
    if (buffer == NULL) {
        tide_json_fail(json, TIDE_NO_MEMORY, at, "no memory for a text of %zu bytes", size);
        return false;
    }
    table->buffer = buffer;
    return tide_json_unescape(json, at, size, buffer, ret_bytes);
}

static bool is_at_hand(const void *ctx, uint64_t number) {
    const string_table *table = ctx;
    return strcmp(table->texts[number], table->buffer) == 0;
}

/* Finds the buffer's text in the table; NULL, and the key to store it under, if it is new. */
static const char *find(const string_table *table, size_t n_bytes, uint64_t *ret_key) {
    uint64_t number = 0;
    bool is_known = tide_map_find_equal(&table->by_hash, tide_hash_bytes(table->buffer, n_bytes),
                                        is_at_hand, table, ret_key, &number);
    return is_known ? table->texts[number] : NULL;
}

static const char *keep_text(string_table *table, size_t n_bytes, uint64_t key) {
    tide_json *json = &table->reader->json;
    table->n_bytes += n_bytes;
    if (table->n_bytes > MAX_TEXT_BYTES) {
        tide_json_fail(json, TIDE_LIMIT, json->at,
                       "the texts up to here have more than the limit of %zu bytes",
                       MAX_TEXT_BYTES);
        return NULL;
    }
    const char *text =
        n_bytes == 0 ? ""
                     : tide_arena_text_n(&table->reader->snapshot->arena, table->buffer, n_bytes);
    if (text == NULL || tide_map_put(&table->by_hash, key, table->n_texts) != TIDE_OK) {
        tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for a text of %zu bytes",
                       n_bytes);
        return NULL;
    }
    return text;
}

/* False after a failure. */
static bool add_text(string_table *table) {
    tide_json *json = &table->reader->json;
    size_t n_bytes = 0;
    uint64_t key = 0;
    if (table->n_texts == TIDE_JSON_MAX_ROWS) {
        tide_json_fail(json, TIDE_LIMIT, json->at, "more than the limit of %d strings",
                       TIDE_JSON_MAX_ROWS);
        return false;
    }
    if (!take_text(table, &n_bytes)) {
        return false;
    }
    const char *text = find(table, n_bytes, &key);
    if (text != NULL && ++table->n_repeated > MAX_REPEATED) {
        tide_json_fail(json, TIDE_LIMIT, json->at,
                       "more than the limit of %d texts that are in the table already",
                       MAX_REPEATED);
        return false;
    }
    const char **grown = tide_hostmem_grow(table->reader->mem, table->texts, &table->capacity,
                                           table->n_texts + 1, sizeof(*grown));
    if (grown == NULL) {
        tide_json_fail(json, TIDE_NO_MEMORY, json->at, "no memory for the strings");
        return false;
    }
    table->texts = grown;
    text = text != NULL ? text : keep_text(table, n_bytes, key);
    if (text == NULL) {
        return false;
    }
    table->texts[table->n_texts++] = text;
    return true;
}

void tide_read_document_strings(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    const tide_hostmem *mem = reader->mem;
    string_table table = {.reader = reader};
    tide_map_init(&table.by_hash, mem);
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json) && add_text(&table)) {
    }
    const char **kept =
        tide_arena_copy(&snapshot->arena, table.texts, table.n_texts, sizeof(*kept));
    if (kept == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for the strings");
    }
    snapshot->strings = kept;
    snapshot->n_strings = kept != NULL ? table.n_texts : 0;
    tide_map_fini(&table.by_hash);
    mem->release(mem->ctx, table.texts);
    mem->release(mem->ctx, table.buffer);
}

void tide_read_document_source(tide_reader *reader, void *snapshot) {
    tide_read_object(reader, &tide_readable_source, snapshot);
}

void tide_read_source_lines(tide_reader *reader, void *object) {
    static const tide_source_row EMPTY = {.text = ""};
    static const tide_row_rule RULE = {.limit = TIDE_SOURCE_LINES,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_source_line};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->source = tide_read_rows(reader, &RULE, &snapshot->n_source);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}
