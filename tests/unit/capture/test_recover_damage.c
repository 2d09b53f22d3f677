/* test_recover_damage.c - a log file that is truncated anywhere, or has any byte changed, gives a
 * consistent document or a message; never a crash, and never more than was recorded.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/recover.h"
#include "common/files/checksum.h"
#include "common/map.h"
#include "recorder/log_format_friend.h"
#include "recorder/state_internal.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/validate.h"
#include "support/hostmem_fault.h"

enum {
    PATH = 256,
    N_STEPS = 60,
    N_LIVE = 8,
    MAX_BYTES = 1 << 16,
    N_FUZZ = 3000,
    READ_BACK_EVERY = 64
};

/* A log as a crash or a close leaves it, with its contents. */
typedef struct log_bytes {
    unsigned char bytes[MAX_BYTES];
    size_t n_bytes;
    size_t n_events;
} log_bytes;

static char folder[PATH];
static char log_path[PATH + 16];
static char snapshot_path[PATH + 16];
static log_bytes good; /* the closed log of the history below */

/* Writes into the existing file. Some file systems flush a file that was emptied and refilled,
 * which would slow the test down. */
static void write_bytes(const unsigned char *bytes, size_t n_bytes) {
    static int file = -1;
    if (file < 0) {
        file = open(log_path, O_RDWR | O_CLOEXEC);
    }
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, n_bytes, 0), n_bytes);
    assert_int_equal(ftruncate(file, (off_t)n_bytes), 0);
}

/* Blocks come and go, each with a name, a scope and a made-up call stack. */
static void record_history(tide_recorder *recorder, tide_cache *cache) {
    uint64_t live[N_LIVE] = {0};
    uint64_t random = 42;
    for (int i = 0; i < N_STEPS; i++) {
        char name[24];
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        size_t slot = random % N_LIVE;
        const uint64_t pcs[3] = {0x1001 + random % 5, 0x2001, 0x3001};
        snprintf(name, sizeof(name), "tensor.%d", (int)(random % 7));
        (void)tide_stack_depot_intern(recorder->depot, pcs, 3);
        tide_scope scope = tide_scope_begin(recorder, TIDE_SCOPE_OPERATOR, name, i);
        tide_tag tag = {TIDE_ACTIVATION, name};
        if (live[slot] != 0) {
            assert_int_equal(tide_cache_release(cache, live[slot], NULL), TIDE_OK);
            live[slot] = 0;
        } else {
            assert_int_equal(tide_cache_alloc(cache, 1 + (size_t)(random >> 30) % (2 << 20),
                                              (tide_stream)i % 3, &tag, &live[slot], NULL),
                             TIDE_OK);
        }
        tide_scope_end(recorder, scope);
    }
}

static int make_log(void **state) {
    (void)state;
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%.200s/tidemark-damage-XXXXXX",
             place != NULL ? place : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(log_path, sizeof(log_path), "%s/x.log", folder);
    snprintf(snapshot_path, sizeof(snapshot_path), "%s/x.json.gz", folder);
    tide_recorder_config config;
    tide_recorder *recorder = NULL;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_recorder_config_init(&config);
    config.log_path = log_path;
    config.log_bytes = 1 << 20;
    config.capture_stacks = false;
    if (tide_recorder_create(&config, &recorder, NULL) != TIDE_OK ||
        tide_device_open("virtual", NULL, &device, NULL) != TIDE_OK ||
        tide_cache_create(device, recorder, NULL, &cache, NULL) != TIDE_OK) {
        return -1;
    }
    record_history(recorder, cache);
    tide_recorder_stats stats;
    tide_recorder_get_stats(recorder, &stats);
    good.n_events = (size_t)stats.n_events;
    tide_cache_destroy(cache);
    tide_recorder_destroy(recorder);
    tide_device_close(device);
    FILE *file = fopen(log_path, "rb");
    good.n_bytes = file != NULL ? fread(good.bytes, 1, sizeof(good.bytes), file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return good.n_bytes > 0 && good.n_bytes < sizeof(good.bytes) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return unlink(log_path) == 0 && unlink(snapshot_path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Expects that the reader accepts the file written from it. */
static void check_read_back(const tide_snapshot *snapshot) {
    tide_snapshot *again = NULL;
    tide_error error = {""};
    if (tide_snapshot_save(snapshot, snapshot_path, &error) != TIDE_OK ||
        tide_snapshot_load(snapshot_path, NULL, &again, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(again->n_events, snapshot->n_events);
    assert_int_equal(again->n_dropped, snapshot->n_dropped);
    tide_snapshot_destroy(again);
}

/* Recovers the file at log_path, checks the document and returns its events; -1: a message gave the
 * reason. */
static int try_recover(tide_recover_report *report) {
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_error error = {""};
    memset(report, 0, sizeof(*report));
    tide_status status = tide_recover(log_path, NULL, &snapshot, report, &error);
    if (status != TIDE_OK) {
        assert_true(status == TIDE_FORMAT || status == TIDE_UNSUPPORTED);
        assert_non_null(strstr(error.message, log_path));
        return -1;
    }
    char place[TIDE_PLACE_BYTES];
    if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
        fail_msg("%s: %s", place, error.message);
    }
    assert_int_equal(report->n_events, snapshot->n_events);
    static size_t n_tried; /* writing costs ten times the rest, so only some files are written */
    if (report->n_counters_damaged > 0 || n_tried++ % READ_BACK_EVERY == 0) {
        check_read_back(snapshot);
    }
    /* The report must not blame a full log for what was damaged. */
    bool is_damaged =
        report->n_missing + report->n_damaged + report->n_unfit + report->n_event_counters_damaged >
        0;
    assert_int_equal(snapshot->full_policy[0] == '\0', is_damaged);
    assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
    int n_events = (int)snapshot->n_events;
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    return n_events;
}

static void the_whole_log_is_read(void **state) {
    (void)state;
    tide_recover_report report;
    write_bytes(good.bytes, good.n_bytes);
    assert_int_equal(try_recover(&report), good.n_events);
    assert_true(report.is_closed);
    report.is_closed = false;
    report.process_id = 0;
    report.n_events = 0;
    static const tide_recover_report NOTHING_WRONG;
    assert_memory_equal(&report, &NOTHING_WRONG, sizeof(report));
}

/* Cuts the file at every byte: each whole row before the cut must be there, in order. */
static void it_may_end_anywhere(void **state) {
    (void)state;
    tide_log_header header;
    memcpy(&header, good.bytes, sizeof(header));
    size_t rows_at = (size_t)header.layout.events_offset;
    for (size_t n = 0; n < good.n_bytes; n++) {
        if (n > sizeof(header) && n < TIDE_LOG_HEADER_BYTES && n % 64 != 0) {
            continue; /* padding */
        }
        tide_recover_report report;
        write_bytes(good.bytes, n);
        int n_events = try_recover(&report);
        size_t n_whole = n > rows_at ? (n - rows_at) / sizeof(tide_event) : 0;
        assert_int_equal(n_events, n_whole == 0 ? -1 : (int)n_whole);
        if (n_whole > 0) {
            assert_int_equal(report.n_missing, good.n_events - n_whole);
            assert_int_equal(report.n_damaged + report.n_unfit + report.n_references_lost, 0);
        }
    }
}

static void any_byte_may_be_wrong(void **state) {
    (void)state;
    static unsigned char bytes[MAX_BYTES];
    for (size_t at = 0; at < good.n_bytes; at++) {
        if (at > sizeof(tide_log_header) && at < TIDE_LOG_HEADER_BYTES && at % 64 != 0) {
            continue;
        }
        tide_recover_report report;
        uint64_t random = tide_hash_u64(at + 1);
        memcpy(bytes, good.bytes, good.n_bytes);
        bytes[at] ^= (unsigned char)(1 + random % 255);
        write_bytes(bytes, good.n_bytes);
        int n_events = try_recover(&report);
        if (at >= TIDE_LOG_HEADER_BYTES) { /* one row may be lost, with those that depend on it */
            assert_true(n_events >= (int)good.n_events - 3);
        }
    }
}

/* Corrects the checksum of the header, so that the reader accepts it. */
static void seal(unsigned char *bytes) {
    tide_log_header header;
    memcpy(&header, bytes, sizeof(header));
    header.layout.checksum = tide_crc32(0, &header.layout, offsetof(tide_log_layout, checksum));
    memcpy(bytes, &header, sizeof(header));
}

/* Chooses a place to damage: in the header, in an area, or anywhere. */
static size_t place_of(uint64_t random) {
    switch (random % 4) {
    case 0:
        return (random >> 8) % sizeof(tide_log_layout);
    case 1:
        return TIDE_LOG_COUNTERS_AT + (random >> 8) % sizeof(tide_log_counters);
    default:
        return TIDE_LOG_HEADER_BYTES + (random >> 8) % (good.n_bytes - TIDE_LOG_HEADER_BYTES);
    }
}

static void much_may_be_wrong(void **state) {
    (void)state;
    static const unsigned char EXTREMES[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
    static unsigned char bytes[MAX_BYTES];
    uint64_t random = 7;
    for (int i = 0; i < N_FUZZ; i++) {
        memcpy(bytes, good.bytes, good.n_bytes);
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        size_t n_changes = 1 + random % 24;
        for (size_t j = 0; j < n_changes; j++) {
            random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
            bytes[place_of(random)] =
                random >> 60 < 8 ? EXTREMES[(random >> 40) % 6] : (unsigned char)(random >> 40);
        }
        memcpy(bytes, good.bytes, 24); /* magic, version, sizes: the rest matters then */
        seal(bytes);
        tide_recover_report report;
        write_bytes(bytes, i % 5 == 0 ? (size_t)(random >> 20) % good.n_bytes : good.n_bytes);
        (void)try_recover(&report);
    }
}

/* Damages each counter alone, as a stray write may. The report keeps what the other counters show,
 * and does not state a wrong counter as a fact. */
static void any_counter_may_be_wrong(void **state) {
    (void)state;
    static const uint64_t WORDS[] = {0,
                                     1,
                                     UINT32_MAX,
                                     UINT64_C(0xffffffff00000000),
                                     UINT64_C(1) << 53,
                                     (UINT64_C(1) << 53) + 1,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX};
    static unsigned char bytes[MAX_BYTES];
    for (size_t at = 0; at < sizeof(tide_log_counters); at += sizeof(uint64_t)) {
        for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
            tide_recover_report report;
            memcpy(bytes, good.bytes, good.n_bytes);
            memcpy(bytes + TIDE_LOG_COUNTERS_AT + at, &WORDS[i], sizeof(WORDS[i]));
            write_bytes(bytes, good.n_bytes);
            int n_events = try_recover(&report);
            bool is_pause = at == offsetof(tide_log_counters, paused_at);
            if (WORDS[i] > UINT64_C(1) << 53 && !(is_pause && WORDS[i] == TIDE_LOG_NEVER)) {
                assert_int_equal(report.n_counters_damaged, 1);
                assert_int_equal(n_events, good.n_events);
                assert_true(report.n_dropped + report.n_scopes_refused < UINT64_C(1) << 53);
            }
        }
    }
}

static void other_versions_are_refused(void **state) {
    (void)state;
    static unsigned char bytes[MAX_BYTES];
    tide_recover_report report;
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    memcpy(bytes, good.bytes, good.n_bytes);
    bytes[offsetof(tide_log_layout, version)] = 2;
    write_bytes(bytes, good.n_bytes);
    assert_int_equal(tide_recover(log_path, NULL, &snapshot, &report, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "the log has version 2"));
    memcpy(bytes, good.bytes, good.n_bytes);
    bytes[offsetof(tide_log_layout, event_bytes)] = 56;
    write_bytes(bytes, good.n_bytes);
    assert_int_equal(tide_recover(log_path, NULL, &snapshot, &report, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "another kind of machine"));
}

/* Each failing host allocation gives a message and leaks nothing. */
static void host_memory_may_run_out(void **state) {
    (void)state;
    write_bytes(good.bytes, good.n_bytes);
    for (size_t n = 1;; n++) {
        tide_hostmem_fault heap;
        tide_hostmem_fault_init(&heap, n);
        heap.fails_on = true;
        tide_snapshot *snapshot = NULL;
        tide_recover_report report;
        tide_error error = {""};
        tide_status status = tide_recover(log_path, &heap.mem, &snapshot, &report, &error);
        if (status == TIDE_OK) {
            assert_true(n > 20); /* otherwise no allocation failed at all */
            tide_snapshot_destroy(snapshot);
            assert_int_equal(heap.n_live, 0);
            return;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        assert_non_null(strstr(error.message, "no host memory"));
        assert_int_equal(heap.n_live, 0);
    }
}

/* The same for a recorder with a log file, which leaves no file either. */
static void a_recorder_may_have_no_memory(void **state) {
    (void)state;
    char path[PATH + 16];
    snprintf(path, sizeof(path), "%s/new.log", folder);
    for (size_t n = 1;; n++) {
        tide_hostmem_fault heap;
        tide_hostmem_fault_init(&heap, n);
        heap.fails_on = true;
        tide_recorder_config config;
        tide_recorder *recorder = NULL;
        tide_recorder_config_init(&config);
        config.mem = &heap.mem;
        config.log_path = path;
        config.log_bytes = 1 << 20;
        tide_status status = tide_recorder_create(&config, &recorder, NULL);
        tide_recorder_destroy(recorder);
        assert_int_equal(heap.n_live, 0);
        (void)unlink(path); /* an empty log may exist; rmdir fails for anything else */
        if (status == TIDE_OK) {
            assert_true(n > 5);
            return;
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_log_is_read),    cmocka_unit_test(it_may_end_anywhere),
        cmocka_unit_test(any_byte_may_be_wrong),    cmocka_unit_test(much_may_be_wrong),
        cmocka_unit_test(any_counter_may_be_wrong), cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(host_memory_may_run_out),  cmocka_unit_test(a_recorder_may_have_no_memory),
    };
    return cmocka_run_group_tests(tests, make_log, remove_folder);
}
