/* test_export.c - the exporters as a library: empty documents, options that match nothing, a sink
 * that fails, and host memory that runs out at every call. Independent programs in tests/format
 * read what they write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/export/export.h"
#include "support/hostmem_fault.h"
#include "support/synthetic.h"

/* The text that a sink has received. */
typedef struct taken {
    char text[512];      /* the beginning */
    size_t n_bytes;      /* all of it */
    size_t n_calls;      /* of the sink */
    size_t failing_call; /* counted from 1; 0: none */
} taken;

static tide_status take(void *ctx, const char *bytes, size_t n_bytes) {
    taken *all = ctx;
    all->n_calls++;
    if (all->n_calls == all->failing_call) {
        return TIDE_IO;
    }
    for (size_t i = 0; i < n_bytes && all->n_bytes + i + 1 < sizeof(all->text); i++) {
        all->text[all->n_bytes + i] = bytes[i];
    }
    all->n_bytes += n_bytes;
    return TIDE_OK;
}

static const tide_exporter *find(const char *name) {
    size_t i = 0;
    while (strcmp(tide_exporter_at(i)->name, name) != 0) {
        i++;
    }
    return tide_exporter_at(i);
}

static tide_status export_to(const char *format, const tide_snapshot *snapshot,
                             const tide_export_options *options, taken *ret_taken,
                             tide_error *error) {
    const tide_export_sink sink = {.write = take, .ctx = ret_taken};
    return tide_export(find(format), snapshot, options, &sink, error);
}

static void an_empty_document_is_exported(void **state) {
    (void)state;
    tide_snapshot *empty = NULL;
    taken csv = {.n_bytes = 0};
    taken folded = {.n_bytes = 0};
    taken perfetto = {.n_bytes = 0};
    assert_int_equal(tide_snapshot_create(NULL, &empty), TIDE_OK);
    assert_int_equal(export_to("csv", empty, NULL, &csv, NULL), TIDE_OK);
    assert_int_equal(export_to("folded", empty, NULL, &folded, NULL), TIDE_OK);
    assert_int_equal(export_to("perfetto", empty, NULL, &perfetto, NULL), TIDE_OK);
    assert_non_null(strstr(csv.text, "event,time_ns,"));
    assert_int_equal(strcspn(csv.text, "\n") + 1, csv.n_bytes);
    assert_int_equal(folded.n_bytes, 0);
    assert_non_null(strstr(perfetto.text, "\"traceEvents\":["));
    tide_snapshot_destroy(empty);
}

static void options_must_fit(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.n_events = 50;
    tide_snapshot *made = synthetic_create(&config);
    const struct {
        const char *format;
        tide_export_options options;
        const char *said; /* NULL: they fit */
    } CASES[] = {
        {"csv", {.at_event = 3, .device = -1}, "csv holds the whole"},
        {"perfetto", {.at_event = TIDE_EXPORT_PEAK, .device = 0}, "perfetto holds the whole"},
        {"folded", {.at_event = 50, .device = -1}, "no event 50: the file has the events 0 to 49"},
        {"folded", {.at_event = -2, .device = -1}, "no event -2"},
        {"folded", {.at_event = INT64_MAX, .device = -1}, "no event 9223372036854775807"},
        {"folded", {.at_event = 49, .device = 1}, "no device 1: the file has 1"},
        {"folded", {.at_event = 49, .device = 0}, NULL},
        {"folded", {.at_event = -1, .device = 0}, NULL},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_error error = {""};
        taken all = {.n_bytes = 0};
        tide_status status = export_to(CASES[i].format, made, &CASES[i].options, &all, &error);
        assert_int_equal(status, CASES[i].said == NULL ? TIDE_OK : TIDE_INVALID);
        assert_non_null(strstr(error.message, CASES[i].said == NULL ? "" : CASES[i].said));
        assert_true(CASES[i].said == NULL || all.n_calls == 0);
    }
    tide_snapshot_destroy(made);
}

static void a_failing_sink_ends_the_export(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.n_events = 4000; /* more than one buffer of text */
    tide_snapshot *made = synthetic_create(&config);
    for (size_t i = 0; tide_exporter_at(i) != NULL; i++) {
        taken all = {.failing_call = 1};
        assert_int_equal(export_to(tide_exporter_at(i)->name, made, NULL, &all, NULL), TIDE_IO);
        assert_int_equal(all.n_calls, 1); /* not asked again */
    }
    taken all = {.failing_call = 2};
    assert_int_equal(export_to("csv", made, NULL, &all, NULL), TIDE_IO);
    assert_int_equal(all.n_calls, 2);
    tide_snapshot_destroy(made);
}

static void lack_of_host_memory_is_told(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.n_events = 200;
    config.two_streams = true;
    for (size_t e = 0; tide_exporter_at(e) != NULL; e++) {
        tide_snapshot *made = synthetic_create(&config);
        const tide_hostmem *mem = made->arena.mem;
        size_t n = 0;
        tide_status status = TIDE_NO_MEMORY;
        while (status != TIDE_OK) {
            tide_hostmem_fault heap;
            taken all = {.n_bytes = 0};
            tide_hostmem_fault_init(&heap, ++n);
            made->arena.mem = &heap.mem; /* the heap from which exporters allocate */
            status = export_to(tide_exporter_at(e)->name, made, NULL, &all, NULL);
            made->arena.mem = mem;
            assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
            assert_int_equal(heap.n_live, 0);
            assert_true(n < 2000);
        }
        assert_true(n > 3); /* else no allocation failed */
        tide_snapshot_destroy(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_document_is_exported),
        cmocka_unit_test(options_must_fit),
        cmocka_unit_test(a_failing_sink_ends_the_export),
        cmocka_unit_test(lack_of_host_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
