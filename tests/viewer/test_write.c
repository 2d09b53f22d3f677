/* Reports are complete and exact, and a failure neither leaves a partial file nor loses an old one.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "viewer/page_internal.h"
#include "viewer/report.h"

enum { PATH_TEXT = 256 };

static char folder[PATH_TEXT]; /* of this test program; emptied by each test that fills it */

static const char *in_folder(const char *name, char path[PATH_TEXT]) {
    snprintf(path, PATH_TEXT, "%.200s/%.50s", folder, name);
    return path;
}

static void put(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Reads a whole file and adds a NUL; the caller frees it. */
static char *get(const char *path, size_t *ret_bytes) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t n = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(n + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, n, file), n);
    text[n] = '\0';
    fclose(file);
    *ret_bytes = n;
    return text;
}

static size_t base64_bytes(const char *text, size_t n, unsigned char *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    uint32_t bits = 0;
    int n_bits = 0;
    for (size_t i = 0; i < n && text[i] != '='; i++) {
        const char *digit = strchr(digits, text[i]);
        assert_non_null(digit);
        bits = (bits << 6) | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[used++] = (unsigned char)(bits >> n_bits);
        }
    }
    return used;
}

static void holds_head_and_tail(void **state) {
    (void)state;
    char path[PATH_TEXT];
    assert_int_equal(tide_report_write(in_folder("empty.html", path), NULL, 0, NULL, NULL),
                     TIDE_OK);
    size_t n = 0;
    char *page = get(path, &n);
    assert_int_equal(n, tide_page_head_bytes + tide_page_tail_bytes);
    assert_memory_equal(page, tide_page_head, tide_page_head_bytes);
    assert_memory_equal(page + tide_page_head_bytes, tide_page_tail, tide_page_tail_bytes);
    assert_non_null(strstr(page, "default-src 'none'; script-src 'sha256-"));
    free(page);
    remove(path);
}

/* The sizes lie around the reading buffer and around base64's groups of three. */
static void embeds_files_byte_for_byte(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 3, 4, 5, 49151, 49152, 49153, 49154, 200000};
    char path[PATH_TEXT], input[PATH_TEXT];
    in_folder("report.html", path);
    in_folder("run.json.gz", input);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        unsigned char *data = malloc(sizes[k]), *back = malloc(sizes[k] + 3);
        assert_non_null(data);
        assert_non_null(back);
        for (size_t i = 0; i < sizes[k]; i++) {
            data[i] = (unsigned char)((i * 2654435761U) >> 13);
        }
        data[0] = 0x1f;
        data[1] = 0x8b;
        put(input, data, sizes[k]);
        const tide_report_input one = {.label = "<a> & \"b\"", .path = input};
        assert_int_equal(tide_report_write(path, &one, 1, NULL, NULL), TIDE_OK);
        size_t n = 0;
        char *page = get(path, &n);
        const char *begin =
            strstr(page + tide_page_head_bytes, "data-label=\"&lt;a&gt; &amp; &quot;b&quot;\">");
        assert_non_null(begin);
        begin = strchr(begin, '>') + 1;
        const char *end = strchr(begin, '<');
        assert_int_equal((size_t)(end - begin), (sizes[k] + 2) / 3 * 4);
        assert_int_equal(base64_bytes(begin, (size_t)(end - begin), back), sizes[k]);
        assert_memory_equal(back, data, sizes[k]);
        free(page);
        free(data);
        free(back);
    }
    remove(path);
    remove(input);
}

static void names_what_failed_and_keeps_the_old_file(void **state) {
    (void)state;
    char path[PATH_TEXT], foreign[PATH_TEXT], empty[PATH_TEXT];
    tide_error error;
    put(in_folder("kept.html", path), "old", 3);
    put(in_folder("foreign.txt", foreign), "hello", 5);
    put(in_folder("empty.json.gz", empty), "", 0);
    const tide_report_input absent = {.label = "x", .path = "/no/such/run.json.gz"};
    assert_int_equal(tide_report_write(path, &absent, 1, NULL, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "/no/such/run.json.gz: cannot open"));
    const tide_report_input other = {.label = "x", .path = foreign};
    assert_int_equal(tide_report_write(path, &other, 1, NULL, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "foreign.txt: not a snapshot"));
    const tide_report_input nothing = {.label = "x", .path = empty};
    assert_int_equal(tide_report_write(path, &nothing, 1, NULL, &error), TIDE_FORMAT);
    const tide_report_input directory = {.label = "x", .path = folder};
    assert_int_equal(tide_report_write(path, &directory, 1, NULL, &error), TIDE_IO);
    assert_int_equal(tide_report_write("/no/such/report.html", NULL, 0, NULL, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "/no/such/report.html cannot be written"));
    size_t n = 0;
    char *kept = get(path, &n);
    assert_string_equal(kept, "old");
    free(kept);
    remove(path);
    remove(foreign);
    remove(empty);
}

static void embeds_the_texts_of_digests(void **state) {
    (void)state;
    char path[PATH_TEXT];
    tide_error error;
    const tide_report_digest digests[] = {{" {}", 3}, {"{}", 2}, {"[]", 2}};
    in_folder("ranks.html", path);
    assert_int_equal(tide_report_write_ranks(path, digests, 0, &error), TIDE_FORMAT);
    assert_int_equal(tide_report_write_ranks(path, digests, 3, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "digest 2 is no JSON object"));
    assert_int_equal(tide_report_write_ranks(path, digests, 2, &error), TIDE_OK);
    size_t n = 0;
    char *page = get(path, &n);
    /* gzip in base64, whole */
    assert_non_null(strstr(page, "data-label=\"ranks\">H4sI"));
    assert_non_null(strstr(page, "</script>\n<!--DATA-->"));
    free(page);
    remove(path);
}

/* A file cannot be renamed onto a folder. */
static void reports_a_target_that_cannot_be_replaced(void **state) {
    (void)state;
    tide_error error;
    assert_int_equal(tide_report_write(folder, NULL, 0, NULL, &error), TIDE_IO);
    assert_non_null(strstr(error.message, folder));
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/tidemark-report-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

/* Fails when a test, or the writer, left any file. */
static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_head_and_tail),
        cmocka_unit_test(embeds_files_byte_for_byte),
        cmocka_unit_test(names_what_failed_and_keeps_the_old_file),
        cmocka_unit_test(embeds_the_texts_of_digests),
        cmocka_unit_test(reports_a_target_that_cannot_be_replaced),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
