/* test_digest_log.c - a digest of a log read piece by piece is the digest of the snapshot recovered
 * from the same log, except for what needs all events at the same time: the causes, and lines that
 * depend on other blocks. It agrees with the summary and the steps of that snapshot.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "capture/log_source.h"
#include "capture/recover.h"
#include "common/map.h"
#include "recorder/log_format_friend.h"
#include "snapshot/ranks/digest.h"
#include "snapshot/analysis/steps.h"
#include "snapshot/analysis/summary.h"
#include "support/hostmem_fault.h"

enum { PATH = 256, N_LAYERS = 3, MAX_CALLS = 5000 };

static char folder[] = "/tmp/tidemark-digest-log-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[PATH];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

typedef struct program {
    tide_device *device;
    tide_recorder *recorder;
    tide_cache *cache;
    uint64_t random;
} program;

typedef struct plan {
    size_t log_bytes;
    tide_full_policy full_policy;
    bool has_stacks;
    bool has_steps;
    bool has_threads; /* each contains a step of a second thread */
    int n_steps;
} plan;

static program create(const plan *of) {
    program p = {.random = 7};
    tide_error error = {""};
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_path = in_folder("run.log");
    config.log_bytes = of->log_bytes;
    config.full_policy = of->full_policy;
    config.capture_stacks = of->has_stacks;
    if (tide_recorder_create(&config, &p.recorder, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(tide_device_open("virtual", NULL, &p.device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(p.device, p.recorder, NULL, &p.cache, NULL), TIDE_OK);
    return p;
}

static void destroy(program *p) {
    tide_cache_destroy(p->cache);
    tide_recorder_destroy(p->recorder);
    tide_device_close(p->device);
}

static uint64_t take(program *p, size_t n_bytes, uint8_t category, const char *name) {
    const tide_tag tag = {category, name};
    uint64_t address = 0;
    assert_int_equal(tide_cache_alloc(p->cache, n_bytes, 0, &tag, &address, NULL), TIDE_OK);
    return address;
}

static void give_back(program *p, uint64_t address) {
    assert_int_equal(tide_cache_release(p->cache, address, NULL), TIDE_OK);
}

static size_t some_bytes(program *p) {
    p->random = tide_hash_u64(p->random + 0x9e3779b97f4a7c15u);
    return 1000 + p->random % 3000000;
}

static void *other_thread(void *ctx) {
    program *p = ctx;
    tide_scope step = tide_scope_begin(p->recorder, TIDE_SCOPE_STEP, "loader", 0);
    uint64_t kept = take(p, some_bytes(p), TIDE_TEMPORARY, "batch");
    uint64_t gone = take(p, some_bytes(p), TIDE_TEMPORARY, "index");
    give_back(p, kept);
    give_back(p, gone);
    tide_scope_end(p->recorder, step);
    return NULL;
}

static void run_other_thread(program *p) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void layers(program *p) {
    uint64_t kept[N_LAYERS];
    tide_scope phase = tide_scope_begin(p->recorder, TIDE_SCOPE_PHASE, "forward", -1);
    for (int i = 0; i < N_LAYERS; i++) {
        tide_scope scope = tide_scope_begin(p->recorder, TIDE_SCOPE_LAYER, "layer", i);
        kept[i] = take(p, some_bytes(p), TIDE_ACTIVATION, "output");
        give_back(p, take(p, some_bytes(p), TIDE_TEMPORARY, "work"));
        tide_scope_end(p->recorder, scope);
    }
    tide_scope_end(p->recorder, phase);
    for (int i = 0; i < N_LAYERS; i++) {
        give_back(p, kept[i]);
    }
}

/* The first step is a warm-up; the last one is not ended. */
static void train(program *p, const plan *of) {
    (void)take(p, 5000000, TIDE_PARAMETER, "weight");
    for (int i = 0; i < of->n_steps; i++) {
        tide_scope step = {0};
        if (of->has_steps) {
            step = tide_scope_begin(p->recorder, TIDE_SCOPE_STEP, i == 0 ? "warmup" : "step", i);
        }
        layers(p);
        if (of->has_threads) {
            run_other_thread(p);
        }
        if (i % 3 == 0) {
            (void)take(p, 70000, TIDE_UNKNOWN, "history");
        }
        layers(p);
        if (of->has_steps && i + 1 < of->n_steps) {
            tide_scope_end(p->recorder, step);
        }
    }
}

/* The log as it is now, as if the process had been killed here. */
static void keep_copy(const char *name) {
    char command[3 * PATH];
    char from[PATH];
    (void)snprintf(from, sizeof(from), "%s", in_folder("run.log"));
    (void)snprintf(command, sizeof(command), "cp %s %s", from, in_folder(name));
    assert_int_equal(system(command), 0);
}

typedef struct made {
    tide_arena arena;
    tide_digest *digest;
    const char *text;
    size_t n_bytes;
} made;

static tide_status make(const tide_event_source *events, const tide_hostmem *mem, made *ret,
                        tide_error *error) {
    const tide_digest_source source = {.path = "run.log", .rank = -1};
    tide_arena_init(&ret->arena, mem);
    TIDE_TRY(tide_digest_make_of_events(events, &source, &ret->arena, &ret->digest, error));
    for (size_t i = 0; i < ret->digest->n_devices; i++) {
        tide_digest_device *device = &ret->digest->devices[i];
        assert_int_equal(device->explained.is_known, events->is_whole);
        device->explained = (tide_digest_explained){.failure = {.event = -1, .line = ""}};
    }
    return tide_digest_text(ret->digest, &ret->arena, &ret->text, &ret->n_bytes);
}

static void expect_same(const made *left, const made *right) {
    if (left->n_bytes != right->n_bytes || memcmp(left->text, right->text, left->n_bytes) != 0) {
        fail_msg("the digests differ:\n%s\n%s", left->text, right->text);
    }
}

/* What the rest of the program reports for the same recording. */
static void expect_figures(const tide_snapshot *snapshot, const tide_digest *digest) {
    tide_summary *summary = NULL;
    tide_lifetimes lifetimes;
    tide_steps steps;
    tide_error error = {""};
    assert_int_equal(tide_summary_create(snapshot, &summary, &error), TIDE_OK);
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, &error),
                     TIDE_OK);
    assert_int_equal(tide_steps_init(&steps, snapshot, &lifetimes, 0), TIDE_OK);
    const tide_digest_device *device = &digest->devices[0];
    const tide_summary_device *expected = &summary->devices[0];
    int64_t sum = device->rest.bytes;
    for (size_t i = 0; i < device->n_rows; i++) {
        sum += device->rows[i].bytes;
    }
    assert_int_equal(sum, expected->peak.totals.allocated_bytes);
    assert_int_equal(device->peak.event, expected->peak.event);
    assert_int_equal(device->peak.time_ns, expected->peak.time_ns);
    assert_int_equal(device->peak.step, expected->peak.step);
    assert_string_equal(device->peak.phase, expected->peak.phase);
    assert_int_equal(device->end.allocated_bytes, expected->end.allocated_bytes);
    assert_int_equal(device->max.reserved_bytes, expected->max[TIDE_MAX_RESERVED].bytes);
    for (size_t i = 0; i < steps.n_steps && steps.n_steps <= TIDE_DIGEST_STEPS; i++) {
        assert_int_equal(device->n_steps, steps.n_steps);
        assert_int_equal(device->steps[i].allocated_peak_bytes, steps.steps[i].peak_bytes);
        assert_int_equal(device->steps[i].end_bytes, steps.steps[i].end_bytes);
    }
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    tide_summary_destroy(summary);
}

/* Reads the log both ways, and the snapshot also from its file. Returns how many events were lost.
 */
static uint64_t compare(const char *name) {
    made streamed, whole, saved;
    tide_log_source *log = NULL;
    tide_snapshot *snapshot = NULL, *loaded = NULL;
    tide_recover_report report;
    tide_document_events state;
    tide_error error = {""};
    assert_int_equal(tide_log_source_open(in_folder(name), NULL, &log, &error), TIDE_OK);
    const tide_event_source events = tide_log_source_events(log);
    assert_false(events.is_whole);
    assert_int_equal(make(&events, tide_hostmem_default(), &streamed, &error), TIDE_OK);
    assert_int_equal(tide_recover(in_folder(name), NULL, &snapshot, &report, &error), TIDE_OK);
    const tide_event_source document = tide_event_source_of(snapshot, &state);
    assert_int_equal(make(&document, tide_hostmem_default(), &whole, &error), TIDE_OK);
    expect_same(&streamed, &whole);
    expect_figures(snapshot, streamed.digest);
    assert_int_equal(tide_log_source_report(log)->n_damaged, report.n_damaged);
    assert_int_equal(tide_log_source_report(log)->n_unfit, report.n_unfit);
    assert_int_equal(tide_log_source_report(log)->n_dropped, report.n_dropped);
    assert_int_equal(tide_log_source_report(log)->n_events, report.n_events);

    assert_int_equal(tide_snapshot_save(snapshot, in_folder("saved.json.gz"), &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(in_folder("saved.json.gz"), NULL, &loaded, &error),
                     TIDE_OK);
    const tide_event_source of_file = tide_event_source_of(loaded, &state);
    assert_int_equal(make(&of_file, tide_hostmem_default(), &saved, &error), TIDE_OK);
    expect_same(&streamed, &saved);

    tide_arena_fini(&saved.arena);
    tide_arena_fini(&whole.arena);
    tide_arena_fini(&streamed.arena);
    tide_snapshot_destroy(loaded);
    tide_snapshot_destroy(snapshot);
    tide_log_source_close(log);
    return report.n_dropped + report.n_damaged + report.n_unfit;
}

static void record(const plan *of) {
    program p = create(of);
    train(&p, of);
    keep_copy("killed.log");
    destroy(&p);
}

static void a_log_has_the_digest_of_its_snapshot(void **state) {
    (void)state;
    const plan of = {.log_bytes = 8 << 20, .has_stacks = true, .has_steps = true, .n_steps = 20};
    record(&of);
    assert_int_equal(compare("run.log"), 0);
    assert_int_equal(compare("killed.log"), 0);
}

static void more_steps_than_a_digest_has_are_told_together(void **state) {
    (void)state;
    const plan of = {.log_bytes = 32 << 20, .has_steps = true, .n_steps = 600};
    record(&of);
    assert_int_equal(compare("run.log"), 0);
}

static void steps_of_threads_overlap(void **state) {
    (void)state;
    const plan of = {.log_bytes = 8 << 20,
                     .has_stacks = true,
                     .has_steps = true,
                     .has_threads = true,
                     .n_steps = 20};
    record(&of);
    assert_int_equal(compare("run.log"), 0);
    assert_int_equal(compare("killed.log"), 0);
}

/* Blocks that were alive at the oldest kept event are part of the peak. */
static void a_full_log_begins_with_what_was_alive(void **state) {
    (void)state;
    const plan of = {.log_bytes = 1 << 20,
                     .full_policy = TIDE_FULL_KEEP_NEWEST,
                     .has_steps = true,
                     .n_steps = 800};
    record(&of);
    assert_true(compare("run.log") > 0);
    assert_true(compare("killed.log") > 0);
}

/* Every 500th row of the log is garbage, so that others contradict it. */
static void a_damaged_log_too(void **state) {
    (void)state;
    const plan of = {.log_bytes = 8 << 20, .has_steps = true, .n_steps = 100};
    tide_log_header header;
    record(&of);
    FILE *file = fopen(in_folder("run.log"), "r+b");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    for (uint64_t row = 250; row < 2500; row += 500) {
        const unsigned char garbage[16] = {0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe,
                                           0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe};
        assert_int_equal(
            fseek(file, (long)(header.layout.events_offset + row * sizeof(tide_event)), SEEK_SET),
            0);
        assert_int_equal(fwrite(garbage, sizeof(garbage), 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
    assert_true(compare("run.log") > 0);
}

/* Steps that are only inferred from repetition are found if all events are present. */
static void a_log_without_steps_is_read_as_a_whole(void **state) {
    (void)state;
    const plan of = {.log_bytes = 8 << 20, .n_steps = 5};
    tide_log_source *log = NULL;
    tide_error error = {""};
    made none;
    record(&of);
    assert_int_equal(tide_log_source_open(in_folder("run.log"), NULL, &log, &error), TIDE_OK);
    const tide_event_source events = tide_log_source_events(log);
    assert_int_equal(make(&events, tide_hostmem_default(), &none, &error), TIDE_UNSUPPORTED);
    assert_string_equal(error.message, "");
    tide_arena_fini(&none.arena);
    tide_log_source_close(log);
}

static tide_status digest_with(const tide_hostmem *mem, tide_error *error) {
    tide_log_source *log = NULL;
    made streamed;
    TIDE_TRY(tide_log_source_open(in_folder("run.log"), mem, &log, error));
    const tide_event_source events = tide_log_source_events(log);
    tide_status status = make(&events, mem, &streamed, error);
    tide_arena_fini(&streamed.arena);
    tide_log_source_close(log);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    const plan of = {.log_bytes = 1 << 20, .has_steps = true, .has_threads = true, .n_steps = 4};
    tide_status status = TIDE_NO_MEMORY;
    size_t n = 0;
    record(&of);
    while (status != TIDE_OK) {
        tide_hostmem_fault heap;
        tide_error error = {""};
        assert_true(++n < MAX_CALLS);
        tide_hostmem_fault_init(&heap, n);
        status = digest_with(&heap.mem, &error);
        assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
        assert_int_equal(heap.n_live, 0);
        assert_true(status != TIDE_OK || heap.n_calls < n);
    }
    assert_true(n > 50);
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    (void)unlink(in_folder("run.log"));
    (void)unlink(in_folder("killed.log"));
    (void)unlink(in_folder("saved.json.gz"));
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_has_the_digest_of_its_snapshot),
        cmocka_unit_test(more_steps_than_a_digest_has_are_told_together),
        cmocka_unit_test(steps_of_threads_overlap),
        cmocka_unit_test(a_full_log_begins_with_what_was_alive),
        cmocka_unit_test(a_damaged_log_too),
        cmocka_unit_test(a_log_without_steps_is_read_as_a_whole),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
