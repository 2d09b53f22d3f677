/* test_live_model.c - whatever PyTorch's allocator does, the reader of a live recording finds the
 * same blocks from the rows alone: random sequences of requests, against a model of its lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/recover.h"
#include "common/map.h"
#include "support/made_log.h"
#include "support/torch_blocks.h"

enum { N_ALIVE = 300, N_STEPS = 4000, N_SEEDS = 12, N_DEVICES = 2, N_STREAMS = 3, N_POOLS = 3 };

static torch_blocks model;
static torch_blocks earlier; /* the same up to the first row that is kept */

/* ---- what the program does ---- */

typedef struct program {
    torch_blocks *torch;
    uint64_t random;
    uint64_t alive[N_ALIVE]; /* addresses; 0: none */
    bool waits[N_ALIVE];     /* for a stream */
} program;

static uint64_t next(program *of) {
    of->random = tide_hash_u64(of->random + 0x9e3779b97f4a7c15u);
    return of->random;
}

/* Of all sizes, many near the limits of the allocator. */
static uint64_t pick_bytes(program *of) {
    static const uint64_t LIMITS[] = {512, 1 << 20, 2 << 20, 10 << 20, 20 << 20};
    uint64_t most = UINT64_C(1) << (9 + next(of) % 17); /* 512 ... 32 MiB */
    uint64_t limit = LIMITS[next(of) % 5];
    return next(of) % 3 == 0 ? limit - 511 + next(of) % 2048 : 1 + next(of) % most;
}

static bool step(program *of) {
    size_t i = next(of) % N_ALIVE;
    if (next(of) % 400 == 0) {
        return torch_empty_cache(of->torch);
    }
    if (of->waits[i]) {
        of->waits[i] = false;
        uint64_t address = of->alive[i];
        of->alive[i] = 0;
        return torch_complete(of->torch, address);
    }
    if (of->alive[i] != 0) {
        of->waits[i] = next(of) % 8 == 0;
        uint64_t address = of->alive[i];
        of->alive[i] = of->waits[i] ? address : 0;
        return torch_free(of->torch, address, of->waits[i]);
    }
    const torch_place place = {.device = (uint8_t)(next(of) % N_DEVICES),
                               .stream = (uint8_t)(next(of) % N_STREAMS),
                               .pool = (uint16_t)(next(of) % N_POOLS)};
    return torch_alloc(of->torch, place, pick_bytes(of), &of->alive[i]);
}

typedef struct scene {
    uint64_t seed;
    uint64_t max_split_bytes;
    bool is_expandable;
    size_t n_kept; /* rows of the ring; 0: the log has all rows */
} scene;

static void play(const scene *of, size_t n_rows, torch_blocks *to) {
    program p = {.torch = to, .random = of->seed};
    memset(to, 0, sizeof(*to));
    to->max_split_bytes = of->max_split_bytes;
    to->is_expandable = of->is_expandable;
    to->stops_at = n_rows;
    for (int i = 0; i < N_STEPS && step(&p); i++) {
    }
}

/* ---- its log ---- */

/* Each stream has one number, unique across devices. */
static uint8_t stream_of(const torch_place *place) {
    return (uint8_t)(place->device * N_STREAMS + place->stream);
}

static void write_log(const scene *of, made_log *log) {
    made_log_open(log, of->n_kept > 0 ? of->n_kept : TORCH_MAX_ROWS, of->n_kept > 0 ? 8192 : 0);
    made_log_text(log, "environment.PYTORCH_CUDA_ALLOC_CONF",
                  of->is_expandable                   ? "expandable_segments:True"
                  : of->max_split_bytes != UINT64_MAX ? "max_split_size_mb:20"
                                                      : "");
    for (uint8_t i = 0; i < N_DEVICES * N_STREAMS; i++) {
        made_log_stream(log, i, i / N_STREAMS, 1000 + i % N_STREAMS);
    }
    for (uint16_t i = 1; i < N_POOLS; i++) {
        (void)made_log_pool(log, i, 0);
    }
    for (size_t i = 0; i < model.n_rows; i++) {
        const torch_row *from = &model.rows[i];
        tide_live_row row = made_row(from->action, from->address, from->n_bytes);
        row.event.device = from->place.device;
        row.event.stream = stream_of(&from->place);
        row.pool = from->place.pool;
        made_log_add(log, row);
    }
    made_log_close(log);
}

/* ---- what was found ---- */

/* Both in the order of addresses. Blocks of mapped memory that touch are one segment. */
static void same_blocks(const scene *of, const torch_blocks *expected,
                        const tide_segment_row *segments, size_t n_segments,
                        const tide_block_row *blocks) {
    size_t at = 0;
    for (size_t i = 0; i < n_segments; i++) {
        for (size_t b = 0; b < segments[i].n_blocks; b++, at++) {
            const tide_block_row *got = &blocks[segments[i].first_block + b];
            const torch_block *is = &expected->blocks[at];
            uint64_t address = segments[i].address + got->offset_bytes;
            bool is_same = at < expected->n_blocks && address == is->address &&
                           got->block_bytes == is->n_bytes && got->state == is->state &&
                           got->requested_bytes == is->requested_bytes &&
                           segments[i].device == is->place.device &&
                           segments[i].stream == stream_of(&is->place) &&
                           segments[i].pool_id[0] == is->place.pool &&
                           segments[i].is_expandable == is->is_expandable;
            if (!is_same) {
                fail_msg("seed %llu, block %zu: at %llx, %llu bytes, state %d, pool %d; PyTorch "
                         "has %llx, %llu bytes, state %d, pool %d",
                         (unsigned long long)of->seed, at, (unsigned long long)address,
                         (unsigned long long)got->block_bytes, (int)got->state,
                         (int)segments[i].pool_id[0], (unsigned long long)is->address,
                         (unsigned long long)is->n_bytes, (int)is->state, (int)is->place.pool);
            }
        }
    }
    assert_int_equal(at, expected->n_blocks);
}

static void same_events(const scene *of, const tide_snapshot *snapshot, size_t n_dropped) {
    assert_int_equal(snapshot->n_events + n_dropped, model.n_rows);
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event got = tide_event_at(snapshot, i);
        const torch_row *is = &model.rows[n_dropped + i];
        if (got.action != is->action || got.address != is->address ||
            got.requested_bytes != is->n_bytes || got.block_bytes != is->block_bytes ||
            got.device != is->place.device || snapshot->event_pool[i] != is->place.pool) {
            fail_msg("seed %llu, row %zu: action %d of %llu bytes; PyTorch: %d of %llu bytes",
                     (unsigned long long)of->seed, n_dropped + i, (int)got.action,
                     (unsigned long long)got.block_bytes, is->action,
                     (unsigned long long)is->block_bytes);
        }
    }
}

/* A ring drops several rows together. */
static uint64_t n_dropped_of(const scene *of) {
    uint64_t n = of->n_kept > 0 ? model.n_rows - of->n_kept : 0;
    uint64_t together = tide_log_fold_rows(of->n_kept);
    return (n + together - 1) / together * together;
}

static void check(const scene *of) {
    made_log log;
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_recover_notes notes;
    tide_error error = {""};
    play(of, SIZE_MAX, &model);
    assert_true(model.n_rows > 3000 && model.n_rows < TORCH_MAX_ROWS);
    write_log(of, &log);
    if (tide_recover_with_notes(log.path, NULL, &snapshot, &report, &notes, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    made_log_remove(&log);
    if (report.n_damaged + report.n_unfit + report.n_missing > 0) {
        fail_msg("seed %llu: %llu rows are damaged, %llu unfit, %llu missing",
                 (unsigned long long)of->seed, (unsigned long long)report.n_damaged,
                 (unsigned long long)report.n_unfit, (unsigned long long)report.n_missing);
    }
    assert_int_equal(report.n_dropped, n_dropped_of(of));
    assert_true(snapshot->event_pool != NULL);
    same_events(of, snapshot, (size_t)report.n_dropped);
    same_blocks(of, &model, snapshot->end_segments, snapshot->n_end_segments, snapshot->end_blocks);
    play(of, (size_t)report.n_dropped, &earlier);
    same_blocks(of, &earlier, snapshot->start_segments, snapshot->n_start_segments,
                snapshot->start_blocks);
    tide_snapshot_destroy(snapshot);
}

static void check_seeds(scene of) {
    for (of.seed = 1; of.seed <= N_SEEDS; of.seed++) {
        of.n_kept = 0;
        check(&of);
        for (of.n_kept = 1; of.n_kept < 2000; of.n_kept = of.n_kept * 7 + of.seed) {
            check(&of);
        }
    }
}

static void segments_in_one_piece(void **state) {
    (void)state;
    check_seeds((scene){.max_split_bytes = UINT64_MAX});
}

static void oversized_blocks(void **state) {
    (void)state;
    check_seeds((scene){.max_split_bytes = 20 << 20});
}

static void segments_that_grow(void **state) {
    (void)state;
    check_seeds((scene){.max_split_bytes = UINT64_MAX, .is_expandable = true});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_in_one_piece),
        cmocka_unit_test(oversized_blocks),
        cmocka_unit_test(segments_that_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
