/* test_kinds.c - a file is recognized by how it begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "answer_text.h"
#include "snapshot/kinds/kinds.h"
#include "snapshot/kinds/page_source.h"

#define ROW(kind, text)                                                                            \
    { (kind), (text), sizeof(text) - 1 }

static void kinds_by_content(void **state) {
    (void)state;
    static const struct {
        tide_kind kind;
        const char *bytes;
        size_t n_bytes;
    } ROWS[] = {
        ROW(TIDE_KIND_EMPTY, ""),
        ROW(TIDE_KIND_PICKLE, "\x80\x04\x95"),
        ROW(TIDE_KIND_DOCUMENT, " \n{\"format\": \"tidemark-snapshot\", \"traceEvents\": []}"),
        ROW(TIDE_KIND_DOCUMENT, "{\"segments\": []}"),
        ROW(TIDE_KIND_OWN_PAGE, "<!doctype html>\n<html><head><title>tidemark</title>"),
        ROW(TIDE_KIND_VIZ_PAGE, "\n<!DOCTYPE html>\n<script>import {x} from \"MemoryViz.js\""),
        ROW(TIDE_KIND_TIMELINE_PAGE,
            "<html>\n<head><title>GPU Memory Timeline HTML</title></head>"),
        ROW(TIDE_KIND_PAGE, "<html><body>hello"),
        ROW(TIDE_KIND_TEXT, "<not html>"),
        ROW(TIDE_KIND_TRACE, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ["),
        ROW(TIDE_KIND_TRACE, "{\"traceEvents\": []}"),
        ROW(TIDE_KIND_TRACE, "[\n {\"ph\": \"X\", \"ts\": 1}]"),
        ROW(TIDE_KIND_RAW_TIMELINE, "[[-1, 1, 1024, 0], [5, 2, -3, 7]]"),
        ROW(TIDE_KIND_RAW_TIMELINE, "[[-1, 1, 1024, 0]]"),
        ROW(TIDE_KIND_TIMELINE, "[[1, 2, 3, 4], [[0, 1]]]"),
        ROW(TIDE_KIND_TIMELINE, "[[1, 2], [[0, 1]]]"),
        ROW(TIDE_KIND_TEXT, "[info] epoch 1"),
        ROW(TIDE_KIND_TEXT, "{\"num_alloc_retries\": 0}"),
        ROW(TIDE_KIND_TEXT, "{'active.all.peak': 0}"),
        ROW(TIDE_KIND_TEXT, "Traceback\n\x1b[31mred\x1b[0m"),
        ROW(TIDE_KIND_NSYS_REPORT, "NVIDIA Tegra Profiler Report 2025@1\n\0"),
        ROW(TIDE_KIND_SQLITE, "SQLite format 3\0\x10"),
        ROW(TIDE_KIND_WANDB, ":W&B\xE1\xBE\0"),
        ROW(TIDE_KIND_WANDB_JSON, "{\"loss\": 1, \"_runtime\": 3, \"_step\": 4}"),
        ROW(TIDE_KIND_TENSORBOARD, "\x18\0\0\0\0\0\0\0\xA3\x7F\x4B\x22\x09\0\0\0\0\0\0\0\0\x1A\x0D"
                                   "brain.Event:2"),
        ROW(TIDE_KIND_CHECKPOINT, "PK\x03\x04\0\0model/data.pkl"),
        ROW(TIDE_KIND_UNKNOWN, "PK\x03\x04\0\0word/document.xml"),
        ROW(TIDE_KIND_UNKNOWN, "\x7F"
                               "ELF\0\0"),
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        tide_kind kind = tide_kind_of(ROWS[i].bytes, ROWS[i].n_bytes);
        if (kind != ROWS[i].kind) {
            fail_msg("row %zu (%s) is %d, %s", i, ROWS[i].bytes, (int)kind, tide_kind_name(kind));
        }
    }
}

/* A source that returns a few bytes at a time. */
typedef struct pieces {
    const char *text;
    size_t n_piece;
} pieces;

static tide_status read_piece(void *ctx, char *to, size_t n_room, size_t *ret_bytes,
                              tide_error *error) {
    pieces *from = ctx;
    size_t n = strlen(from->text);
    (void)error;
    n = n < from->n_piece ? n : from->n_piece;
    n = n < n_room ? n : n_room;
    memcpy(to, from->text, n);
    from->text += n;
    *ret_bytes = n;
    return TIDE_OK;
}

static tide_status read_page(tide_kind kind, const char *text, size_t n_piece, size_t n_room,
                             char ret_data[64]) {
    static tide_page_source page;
    pieces from = {.text = text, .n_piece = n_piece};
    const tide_source source = {.read = read_piece, .ctx = &from};
    size_t n_data = 0;
    size_t n_more = 1;
    tide_error error = {""};
    tide_status status = TIDE_OK;
    tide_page_source_init(&page, kind, &source);
    while (status == TIDE_OK && n_more > 0) {
        n_more = 0;
        status = tide_page_source_read(&page, ret_data + n_data, n_room, &n_more, &error);
        n_data += n_more;
        assert_true(n_data + n_room < 64);
    }
    ret_data[n_data] = '\0';
    assert_true(status == TIDE_OK || error.message[0] != '\0');
    return status;
}

static void data_of_pages(void **state) {
    (void)state;
    static const struct {
        tide_kind kind;
        const char *text;
        const char *data; /* NULL: refused */
    } ROWS[] = {
        {TIDE_KIND_VIZ_PAGE, "f = [{\"name\": \"s\", \"base64\": \"SGVsbG8sIHdvcmxk\"}]",
         "Hello, world"},
        {TIDE_KIND_VIZ_PAGE, "[{\"base64\":\"SGVsbG8=\"}]", "Hello"},
        {TIDE_KIND_VIZ_PAGE, "\"base6\"base64\": \"SGVs\nbG8=\" \"base64\": \"AAAA\"", "Hello"},
        {TIDE_KIND_VIZ_PAGE, "[{\"base64\": \"SGVsbG8", NULL},
        {TIDE_KIND_VIZ_PAGE, "no data", NULL},
        {TIDE_KIND_OWN_PAGE,
         "querySelectorAll('script.tidemark-snapshot') class=\"x\" <script "
         "class=\"tidemark-snapshot\" data-label=\"a\">SGVsbG8</script>",
         "Hello"},
        {TIDE_KIND_OWN_PAGE, "<script class=\"tidemark-snapshot\"", NULL},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        for (size_t n_piece = 1; n_piece < 40; n_piece += 5) {
            char data[64];
            tide_status status =
                read_page(ROWS[i].kind, ROWS[i].text, n_piece, 1 + n_piece / 8, data);
            assert_int_equal(status, ROWS[i].data != NULL ? TIDE_OK : TIDE_FORMAT);
            if (ROWS[i].data != NULL) {
                assert_string_equal(data, ROWS[i].data);
            }
        }
    }
}

/* Files that no command reads have something to do instead. */
static void refused_kinds_have_advice(void **state) {
    (void)state;
    static const tide_kind KINDS[] = {
        TIDE_KIND_NSYS_REPORT, TIDE_KIND_WANDB,         TIDE_KIND_WANDB_JSON, TIDE_KIND_TENSORBOARD,
        TIDE_KIND_CHECKPOINT,  TIDE_KIND_TIMELINE_PAGE, TIDE_KIND_PAGE,       TIDE_KIND_LAUNCHES};
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        assert_true(tide_kind_advice(KINDS[i])[0] != '\0' ||
                    tide_kind_recorder(KINDS[i])[0] != '\0');
    }
    char found[ANSWER_BYTES];
    answer_text(":W&B\xE1", 5, found);
    assert_string_equal(found, "not answered\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_by_content),
        cmocka_unit_test(data_of_pages),
        cmocka_unit_test(refused_kinds_have_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
