/* test_source.c - the text of the program's lines in a file: damaged tables are refused by their
 * place, and a line is found by its frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/source.h"
#include "snapshot/analysis/summary.h"
#include "support/snapshot_files.h"

enum { DOCUMENT_BYTES = 2048 };

/* A document with two strings, three frames, and the text as its member `source`. */
static tide_status load(const char *source, tide_snapshot **ret_snapshot, tide_error *error) {
    char text[DOCUMENT_BYTES];
    char path[SNAPSHOT_PATH_BYTES];
    int n = snprintf(
        text, sizeof(text),
        "{\"format\":\"tidemark-snapshot\",\"version\":1,\"address_unit_bytes\":512,"
        "\"devices\":[],\"streams\":[],\"strings\":[\"f\",\"train.py\"],"
        "\"frames\":{\"function\":[0,0,0],\"file\":[1,1,-1],\"line\":[3,4,3],\"inlined\":[0,0,0]},"
        "\"source\":%s,\"stacks\":{\"parent\":[],\"frame\":[]},"
        "\"scopes\":{\"parent\":[],\"kind\":[],\"name\":[],\"index\":[],\"thread\":[],"
        "\"begin_delta\":[],\"duration\":[],\"device_begin\":[],\"device_duration\":[]},"
        "\"start\":{\"segments\":[]},\"end\":{\"segments\":[]},"
        "\"events\":{\"time_delta\":[],\"action\":[],\"device\":[],\"address_delta\":[],"
        "\"requested_bytes\":[],\"block_bytes\":[],\"stream\":[],\"stack\":[],\"scope_delta\":[],"
        "\"category\":[],\"name\":[]}}",
        source);
    snapshot_path(path, "source.json");
    snapshot_write_file(path, text, (size_t)n);
    tide_status status = tide_snapshot_load(path, NULL, ret_snapshot, error);
    snapshot_remove(path);
    return status;
}

static void a_line_is_found_by_its_frame(void **state) {
    (void)state;
    tide_snapshot *read = NULL;
    tide_error error = {""};
    if (load("{\"lines\":[{\"file\":0,\"line\":3,\"text\":\"other()\"},"
             "{\"file\":1,\"line\":3,\"text\":\"y = f(x)\"},"
             "{\"file\":1,\"line\":9,\"text\":\"z = [\",\"cut\":true}],\"omitted\":2}",
             &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(tide_source_of(read, 0)->text, "y = f(x)");
    assert_null(tide_source_of(read, 1)); /* another line */
    assert_null(tide_source_of(read, 2)); /* without a file */
    assert_null(tide_source_of(read, TIDE_NONE));
    assert_true(read->source[2].is_cut && read->n_source_omitted == 2);
    assert_int_equal(tide_snapshot_strip_private(read), TIDE_OK);
    assert_null(tide_source_of(read, 0));
    tide_snapshot_destroy(read);
}

static void damaged_tables_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *source, *message;
    } CASES[] = {
        {"[]", "source: an object was"},
        {"{\"omitted\":1}", "the key 'lines' is missing"},
        {"{\"lines\":{}}", "source.lines: an array was"},
        {"{\"lines\":[{\"file\":2,\"line\":3,\"text\":\"f()\"}]}",
         "source.lines[0].file: 2 refers to none of the 2 strings"},
        {"{\"lines\":[{\"file\":-1,\"line\":3,\"text\":\"f()\"}]}", "source.lines[0].file"},
        {"{\"lines\":[{\"file\":1,\"line\":3,\"text\":4}]}", "source.lines[0].text: a text was"},
        {"{\"lines\":[{\"file\":1,\"line\":3}]}", "the key 'text' is missing"},
        {"{\"lines\":[{\"file\":1,\"line\":3,\"text\":\"a\"},{\"file\":1,\"line\":3,\"text\":"
         "\"b\"}]}",
         "source.lines[1]: it must follow the one above it"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_snapshot *read = NULL;
        tide_error error = {""};
        tide_status status = load(CASES[i].source, &read, &error);
        if (status != TIDE_FORMAT || strstr(error.message, CASES[i].message) == NULL) {
            fail_msg("%s: \"%s\"", CASES[i].source, error.message);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found_by_its_frame),
        cmocka_unit_test(damaged_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
