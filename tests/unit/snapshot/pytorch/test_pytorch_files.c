/* test_pytorch_files.c - real snapshots that PyTorch wrote, with the figures that must be read from
 * them. The files are not part of the project: the test skips if neither TIDEMARK_SHARED nor
 * ../shared has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/clock.h"
#include "snapshot/analysis/summary.h"
#include "support/pytorch_files.h"
#include "support/snapshot_files.h"

enum {
    MEMORY_FACTOR = 12,
    EXIT_SKIP = 77,
    N_DUMPS = 9,            /* in the trace of cnn_snapshot_events */
    DUMPED_BYTES = 48760832 /* in use at each of them */
};

#define BYTES_PER_MIB 1048576.0

/* Requested bytes in use before the first event. */
static int64_t start_bytes(const tide_snapshot *snapshot) {
    int64_t sum = 0;
    for (size_t i = 0; i < snapshot->n_start_blocks; i++) {
        const tide_block_row *block = &snapshot->start_blocks[i];
        sum += block->state != TIDE_BLOCK_FREE ? (int64_t)block->requested_bytes : 0;
    }
    return sum;
}

/* Rounded to two digits, as the table prints it. */
static void assert_mib(int64_t n_bytes, const char *expected) {
    char text[32];
    snprintf(text, sizeof(text), "%.2f", (double)n_bytes / BYTES_PER_MIB);
    assert_string_equal(text, expected);
}

static void check_figures(const pytorch_file *file) {
    tide_snapshot *snapshot = pytorch_file_load(file);
    tide_summary *summary = NULL;
    assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
    assert_int_equal(snapshot->origin.n_events, file->n_events);
    assert_int_equal(snapshot->origin.n_contradictions, 0);
    int64_t reserved_bytes = 0;
    for (size_t i = 0; i < summary->n_devices; i++) {
        reserved_bytes += summary->devices[i].end.reserved_bytes;
        assert_int_equal(summary->devices[i].n_unmatched, 0);
    }
    assert_int_equal(reserved_bytes, (int64_t)file->reserved_mib << 20);
    if (file->start_mib != NULL) {
        assert_mib(start_bytes(snapshot), file->start_mib);
        assert_mib(summary->devices[0].max[TIDE_MAX_REQUESTED].bytes, file->peak_mib);
        assert_mib(summary->devices[0].end.requested_bytes, file->end_mib);
    }
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
}

static void figures_come_out(void **state) {
    (void)state;
    for (size_t i = 0; i < PYTORCH_N_FILES; i++) {
        check_figures(&PYTORCH_FILES[i]);
    }
}

/* The events, applied to the start, give the state that the dump holds. */
static void start_and_events_lead_to_the_end(void **state) {
    (void)state;
    for (size_t i = 0; i < PYTORCH_N_FILES; i++) {
        tide_snapshot *snapshot = pytorch_file_load(&PYTORCH_FILES[i]);
        tide_summary *summary = NULL;
        assert_int_equal(tide_summary_create(snapshot, &summary, NULL), TIDE_OK);
        int64_t allocated[256] = {0};
        int64_t reserved[256] = {0};
        for (size_t s = 0; s < snapshot->n_end_segments; s++) {
            const tide_segment_row *segment = &snapshot->end_segments[s];
            reserved[segment->device] += (int64_t)segment->total_bytes;
            for (size_t b = 0; b < segment->n_blocks; b++) {
                const tide_block_row *block = &snapshot->end_blocks[segment->first_block + b];
                allocated[segment->device] +=
                    block->state == TIDE_BLOCK_ALLOCATED ? (int64_t)block->block_bytes : 0;
            }
        }
        for (size_t d = 0; d < summary->n_devices; d++) {
            assert_int_equal(summary->devices[d].end.allocated_bytes, allocated[d]);
            assert_int_equal(summary->devices[d].end.reserved_bytes, reserved[d]);
        }
        tide_summary_destroy(summary);
        tide_snapshot_destroy(snapshot);
    }
}

/* A heap that counts the bytes in use and their highest sum. */
typedef struct meter {
    tide_hostmem mem;
    size_t n_now, n_highest;
} meter;

typedef struct head {
    _Alignas(16) size_t n_bytes;
} head;

static void count(meter *on, size_t taken, size_t given) {
    on->n_now += taken;
    on->n_now -= given;
    on->n_highest = on->n_now > on->n_highest ? on->n_now : on->n_highest;
}

static void *meter_resize(void *ctx, void *memory, size_t n_bytes) {
    head *old = memory != NULL ? (head *)memory - 1 : NULL;
    size_t n_old = old != NULL ? old->n_bytes : 0;
    head *made = realloc(old, sizeof(head) + n_bytes);
    if (made == NULL) {
        return NULL;
    }
    count(ctx, n_bytes, n_old);
    made->n_bytes = n_bytes;
    return made + 1;
}

static void *meter_alloc(void *ctx, size_t n_bytes) {
    return meter_resize(ctx, NULL, n_bytes);
}

static void meter_release(void *ctx, void *memory) {
    if (memory != NULL) {
        head *old = (head *)memory - 1;
        count(ctx, 0, old->n_bytes);
        free(old);
    }
}

static void memory_stays_below_12_times_the_file(void **state) {
    (void)state;
    for (size_t i = 0; i < PYTORCH_N_FILES; i++) {
        meter on = {.n_now = 0};
        on.mem = (tide_hostmem){meter_alloc, meter_resize, meter_release, &on};
        char path[PYTORCH_PATH_BYTES];
        size_t n_bytes = 0;
        pytorch_file_path(&PYTORCH_FILES[i], path);
        free(snapshot_file_text(path, &n_bytes));
        tide_snapshot *snapshot = NULL;
        int64_t begin_ns = tide_clock_now_ns();
        assert_int_equal(tide_snapshot_load(path, &on.mem, &snapshot, NULL), TIDE_OK);
        print_message("%s: %zu bytes, %.2f times as much memory, %.1f ms\n", PYTORCH_FILES[i].name,
                      n_bytes, (double)on.n_highest / (double)n_bytes,
                      (double)(tide_clock_now_ns() - begin_ns) * 1e-6);
        assert_true(on.n_highest < MEMORY_FACTOR * n_bytes);
        tide_snapshot_destroy(snapshot);
        assert_int_equal(on.n_now, 0);
    }
}

/* The trace of the next dump shows how many bytes were in use at this one. It counts whole blocks,
 * so the sizes of all blocks alive at that time must be right. */
static void derived_block_sizes_add_up_at_each_dump(void **state) {
    (void)state;
    tide_snapshot *snapshot = pytorch_file_load(pytorch_file_named("cnn_snapshot_events"));
    int64_t now = 0;
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_start_blocks; i++) {
        const tide_block_row *block = &snapshot->start_blocks[i];
        now += block->state != TIDE_BLOCK_FREE ? (int64_t)block->block_bytes : 0;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        if (row.action == TIDE_ACTION_ALLOC) {
            now += (int64_t)row.block_bytes;
        } else if (row.action == TIDE_ACTION_FREE || row.action == TIDE_ACTION_FREE_COMPLETED) {
            now -= (int64_t)row.block_bytes;
        } else if (row.action == TIDE_ACTION_MARK) {
            assert_int_equal(now, DUMPED_BYTES);
            n++;
        }
    }
    assert_int_equal(n, N_DUMPS);
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    char path[PYTORCH_PATH_BYTES];
    if (!pytorch_file_path(&PYTORCH_FILES[0], path)) {
        fprintf(stderr, "skipped: no folder pytorch-snapshots in TIDEMARK_SHARED\n");
        return EXIT_SKIP;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_come_out),
        cmocka_unit_test(start_and_events_lead_to_the_end),
        cmocka_unit_test(memory_stays_below_12_times_the_file),
        cmocka_unit_test(derived_block_sizes_add_up_at_each_dump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
