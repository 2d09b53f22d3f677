/* test_boundary.c - the state before the first event and after the last one, compared with a plain
 * simulation of random events. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "boundary_fixture.h"
#include "capture/capture_internal.h"
#include "capture/recover.h"
#include "common/map.h"
#include "recorder/journal_internal.h"
#include "recorder/log_file_internal.h"
#include "support/event_log.h"

enum { MAX_SEGMENTS = 8, MAX_BLOCKS = 64, N_UNITS = 16, UNIT = 512, N_EVENTS = 300 };

/* The simulation: segments of N_UNITS units at fixed places, each unit free or part of a block. */
typedef struct model {
    bool segment_live[MAX_SEGMENTS];
    uint32_t alloc[MAX_SEGMENTS]
                  [N_UNITS];    /* row of the alloc that the unit belongs to, + 1; 0: free */
    bool pending[N_EVENTS + 1]; /* by alloc row + 1 */
} model;

/* Addresses are not in the order of the segments' numbers. */
static uint64_t segment_address(size_t s) {
    return (uint64_t)0x100000 * (1 + s * 5 % MAX_SEGMENTS);
}

/* The number of units from u on with equal values. */
static size_t run_of(const uint32_t *units, size_t u) {
    size_t end = u + 1;
    while (end < N_UNITS && units[end] == units[u]) {
        end++;
    }
    return end - u;
}

static tide_event change_segment(model *m, size_t s) {
    m->segment_live[s] = !m->segment_live[s];
    tide_event event =
        base_event(m->segment_live[s] ? TIDE_ACTION_SEGMENT_ALLOC : TIDE_ACTION_SEGMENT_FREE,
                   segment_address(s), N_UNITS * UNIT);
    event.stream = (uint8_t)s;
    return event;
}

static tide_event change_block(model *m, const tide_event *events, size_t row, size_t s, size_t u,
                               uint64_t random) {
    uint32_t *units = m->alloc[s];
    uint32_t alloc = units[u];
    if (alloc == 0) {
        size_t n_units = 1 + random % run_of(units, u);
        for (size_t i = 0; i < n_units; i++) {
            units[u + i] = (uint32_t)row + 1;
        }
        tide_event event =
            base_event(TIDE_ACTION_ALLOC, segment_address(s) + u * UNIT, n_units * UNIT);
        event.requested_bytes -= random % UNIT;
        event.stack = (uint32_t)row;
        event.scope = (uint32_t)row + 1000;
        event.name = (uint32_t)row + 2000;
        event.category = (uint8_t)(random % TIDE_N_CATEGORIES);
        return event;
    }
    tide_event event = events[alloc - 1]; /* the row of a free repeats its block */
    event.stack = 7777;
    event.scope = 8888;
    if (!m->pending[alloc] && random % 3 == 0) {
        m->pending[alloc] = true;
        event.action = TIDE_ACTION_FREE_REQUESTED;
        return event;
    }
    event.action = m->pending[alloc] ? TIDE_ACTION_FREE_COMPLETED : TIDE_ACTION_FREE;
    for (size_t i = 0; i < N_UNITS; i++) {
        units[i] = units[i] == alloc ? 0 : units[i];
    }
    return event;
}

static bool is_empty(const uint32_t *units) {
    return units[0] == 0 && run_of(units, 0) == N_UNITS;
}

/* Makes row `row` of a random history. */
static tide_event step(model *m, const tide_event *events, size_t row, uint64_t *random) {
    for (;;) {
        *random = tide_hash_u64(*random + 0x9e3779b97f4a7c15u);
        size_t s = *random % MAX_SEGMENTS, u = *random / 64 % N_UNITS;
        uint64_t rest = *random >> 20;
        if (rest % 16 == 0) {
            return base_event(rest % 32 == 0 ? TIDE_ACTION_OOM : TIDE_ACTION_MARK, 1, 1);
        }
        if (!m->segment_live[s] || (rest % 4 == 0 && is_empty(m->alloc[s]))) {
            return change_segment(m, s);
        }
        if (u == 0 || m->alloc[s][u] != m->alloc[s][u - 1] || m->alloc[s][u] == 0) {
            return change_block(m, events, row, s, u, rest);
        }
    }
}

/* Compares a boundary with the truth. `known`: blocks allocated before this row came back without
 * stack and scope, except those that still exist at the end. */
static void compare(const model *m, const tide_boundary *boundary, const tide_event *events,
                    const model *end) {
    size_t n_live = 0, b = 0;
    uint64_t last_address = 0;
    for (size_t i = 0; i < MAX_SEGMENTS; i++) {
        n_live += m->segment_live[i];
    }
    assert_int_equal(boundary->n_segments, n_live);
    for (size_t i = 0; i < n_live; i++) {
        const tide_segment_row *segment = &boundary->segments[i];
        assert_true(segment->address > last_address);
        last_address = segment->address;
        size_t s = segment->stream;
        assert_true(segment->address == segment_address(s) && m->segment_live[s]);
        assert_int_equal(segment->total_bytes, N_UNITS * UNIT);
        assert_int_equal(segment->first_block, b);
        size_t u = 0;
        while (u < N_UNITS) {
            uint32_t alloc = m->alloc[s][u];
            const tide_block_row *block = &boundary->blocks[b++];
            assert_int_equal(block->offset_bytes, u * UNIT);
            assert_int_equal(block->block_bytes, run_of(m->alloc[s], u) * UNIT);
            u += run_of(m->alloc[s], u);
            if (alloc == 0) {
                assert_int_equal(block->state, TIDE_BLOCK_FREE);
                assert_true(block->stack == TIDE_NONE && block->requested_bytes == 0);
                continue;
            }
            const tide_event *row = &events[alloc - 1];
            assert_int_equal(block->state,
                             m->pending[alloc] ? TIDE_BLOCK_PENDING_FREE : TIDE_BLOCK_ALLOCATED);
            assert_int_equal(block->requested_bytes, row->requested_bytes);
            assert_int_equal(block->category, row->category);
            assert_true(block->name == row->name);
            bool survives = end == NULL || end->alloc[s][u - 1] == alloc;
            assert_true(block->stack == (survives ? row->stack : TIDE_NONE));
            assert_true(block->scope == (survives ? row->scope : TIDE_NONE));
        }
        assert_int_equal(segment->n_blocks, b - segment->first_block);
    }
    assert_int_equal(boundary->n_blocks, b);
}

static void both_directions_agree_with_a_simulation(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static model states[N_EVENTS + 1]; /* states[i] is the truth before row i */
        static tide_event events[N_EVENTS];
        uint64_t random = seed;
        memset(states, 0, sizeof(states));
        for (size_t i = 0; i < N_EVENTS; i++) {
            states[i + 1] = states[i];
            events[i] = step(&states[i + 1], events, i, &random);
        }
        tide_arena arena;
        tide_arena_init(&arena, tide_hostmem_default());
        tide_boundary end, start;
        for (size_t i = 0; i <= N_EVENTS; i += 7) {
            assert_int_equal(tide_boundary_after(NULL, 0, events, i, &arena, NULL, &end, NULL),
                             TIDE_OK);
            compare(&states[i], &end, events, NULL);
            for (size_t j = 0; j <= i; j += 13) {
                assert_int_equal(
                    tide_boundary_before(&end, events + j, i - j, NULL, 0, &arena, &start, NULL),
                    TIDE_OK);
                compare(&states[j], &start, events, &states[i]);
            }
        }
        tide_arena_fini(&arena);
    }
}

/* Makes a random history, and the truth before each of its rows. */
static void make_history(uint64_t seed, model states[N_EVENTS + 1], tide_event events[N_EVENTS]) {
    uint64_t random = seed;
    memset(states, 0, (N_EVENTS + 1) * sizeof(states[0]));
    for (size_t i = 0; i < N_EVENTS; i++) {
        states[i + 1] = states[i];
        events[i] = step(&states[i + 1], events, i, &random);
    }
}

/* Computes both ends from what the log kept, in both directions, and compares them with the truth,
 * stacks and scopes included. */
static void check_log(const tide_event_log *log, const model *states, const tide_event *events) {
    static tide_event kept[N_EVENTS], base[N_EVENTS];
    size_t first = (size_t)tide_event_log_first(log), n_kept = tide_event_log_n_kept(log);
    assert_true(log->n_base <= N_EVENTS);
    tide_event_log_copy(log, first, n_kept, kept);
    tide_event_log_copy_base(log, base);
    assert_memory_equal(kept, events + first, n_kept * sizeof(*kept));
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_boundary start, end;
    assert_int_equal(
        tide_boundary_after(base, log->n_base, kept, n_kept, &arena, &start, &end, NULL), TIDE_OK);
    compare(&states[first], &start, events, NULL);
    compare(&states[first + n_kept], &end, events, NULL);
    assert_int_equal(
        tide_boundary_before(&end, kept, n_kept, base, log->n_base, &arena, &start, NULL), TIDE_OK);
    compare(&states[first], &start, events, NULL);
    tide_arena_fini(&arena);
}

static void a_ring_of_any_length_knows_what_was_alive(void **state) {
    (void)state;
    static model states[N_EVENTS + 1];
    static tide_event events[N_EVENTS];
    for (uint64_t seed = 1; seed <= 3; seed++) {
        make_history(seed, states, events);
        for (size_t n_rows = 1; n_rows <= N_EVENTS; n_rows++) {
            tide_event_log log;
            assert_int_equal(tide_event_log_init(&log, tide_hostmem_default(),
                                                 n_rows * sizeof(tide_event), true, NULL),
                             TIDE_OK);
            for (size_t i = 0; i < N_EVENTS; i++) {
                append_event(&log, &events[i]);
            }
            assert_int_equal(tide_event_log_n_kept(&log), n_rows);
            assert_true(tide_event_log_has_newest(&log));
            check_log(&log, states, events);
            tide_event_log_fini(&log);
        }
    }
}

/* A base that is too small for the live blocks stops the log. What the log contains is still
 * true. */
static void a_full_base_ends_the_log(void **state) {
    (void)state;
    static model states[N_EVENTS + 1];
    static tide_event events[N_EVENTS], rows[N_EVENTS], base[N_EVENTS];
    make_history(4, states, events);
    for (size_t max_base = 0; max_base < 20; max_base++) {
        tide_event_log log;
        const tide_event_log_memory memory = {sizeof(tide_event), rows, 7, base, max_base, NULL};
        tide_event_log_init_in(&log, tide_hostmem_default(), &memory, true);
        for (size_t i = 0; i < N_EVENTS; i++) {
            append_event(&log, &events[i]);
        }
        assert_int_equal(tide_event_log_n_kept(&log), 7);
        assert_int_equal(tide_event_log_n_dropped(&log), N_EVENTS - 7);
        assert_true(!tide_event_log_has_newest(&log));
        check_log(&log, states, events);
        tide_event_log_fini(&log);
    }
}

/* ---- the same from a file ---- */

enum { N_SCOPES = N_EVENTS + 1000 }; /* one for each number in the history */

/* Writes the history into a log file with areas of these sizes and leaves the file as a killed
 * process does. `is_midst`: the process died while it wrote the last row: the oldest row was
 * already in the base, but also still in its place and counted. */
static void leave_file(const char *path, size_t n_rows, size_t max_base, const tide_event *events,
                       bool is_midst) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_log_file file;
    tide_journal *journal = NULL;
    tide_event_log log;
    char text[32];
    tide_log_layout layout = tide_log_layout_make(
        &(tide_log_areas){1 << 16, N_SCOPES, max_base, n_rows, sizeof(tide_event), 1});
    assert_int_equal(tide_log_file_open_as(mem, path, &layout, &file, NULL), TIDE_OK);
    assert_int_equal(tide_journal_create(mem, &file, &journal), TIDE_OK);
    tide_event_log_memory memory = tide_log_file_memory(&file);
    tide_event_log_init_in(&log, mem, &memory, true);
    atomic_store(&file.header->counters.n_scopes, N_SCOPES); /* all of them zero */
    for (uint32_t i = 0; i < N_EVENTS; i++) {
        const uint64_t pc = i + 1;
        snprintf(text, sizeof(text), "%u", i);
        tide_journal_string(journal, i + 2000, text);
        tide_journal_stack(journal, i, &pc, 1);
        append_event(&log, &events[i]);
    }
    assert_int_equal(atomic_load(&file.header->counters.n_records_refused), 0);
    if (is_midst) {
        size_t oldest = (size_t)tide_event_log_first(&log) - 1;
        file.events[oldest % n_rows] = events[oldest];
        atomic_store(&file.header->counters.n_folded, oldest);
        atomic_store(&file.header->counters.n_written, N_EVENTS - 1);
    }
    tide_event_log_fini(&log);
    tide_journal_destroy(journal);
    munmap(file.bytes, file.mapped_bytes);
    close(file.descriptor);
    mem->release(mem->ctx, file.path);
}

/* Reads one end of the document, with the numbers of the history. */
static tide_boundary numbered(const tide_snapshot *snapshot, const tide_segment_row *segments,
                              size_t n_segments, const tide_block_row *blocks, size_t n_blocks,
                              tide_arena *arena) {
    tide_boundary made = {
        .segments = tide_arena_alloc(arena, n_segments, sizeof(*segments)),
        .n_segments = n_segments,
        .blocks = tide_arena_alloc(arena, n_blocks, sizeof(*blocks)),
        .n_blocks = n_blocks,
    };
    assert_true(made.segments != NULL && made.blocks != NULL);
    for (size_t i = 0; i < n_segments; i++) {
        made.segments[i] = segments[i];
    }
    for (size_t i = 0; i < n_blocks; i++) {
        tide_block_row *block = &made.blocks[i];
        *block = blocks[i];
        if (block->stack != TIDE_NONE) { /* "0x12": the call is before the return address */
            const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[block->stack].frame];
            const char *text = tide_snapshot_text(snapshot, frame->function);
            block->stack = (uint32_t)strtoul(text, NULL, 16);
        }
        if (block->name != TIDE_NONE) {
            const char *text = tide_snapshot_text(snapshot, block->name);
            block->name = (uint32_t)strtoul(text, NULL, 10) + 2000;
        }
    }
    return made;
}

/* Expects that n_rows of n_total are kept, or one fewer if the process died while it wrote one. A
 * log that its base stopped does not keep the last rows: n_lost rows came after them. */
static void check_file(const char *path, size_t n_total, size_t n_lost, const model *states,
                       const tide_event *events) {
    tide_recover_report report;
    tide_snapshot *snapshot = NULL;
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    assert_int_equal(tide_recover(path, NULL, &snapshot, &report, NULL), TIDE_OK);
    assert_int_equal(report.n_events + report.n_dropped, n_total);
    assert_int_equal(report.n_missing + report.n_damaged + report.n_unfit, 0);
    size_t n_kept = snapshot->n_events;
    size_t first = n_total - n_lost - n_kept;
    for (size_t i = 0; i < n_kept; i++) {
        assert_true(snapshot->events.address[i] == events[first + i].address);
        assert_int_equal(snapshot->events.action[i], events[first + i].action);
    }
    tide_boundary start = numbered(snapshot, snapshot->start_segments, snapshot->n_start_segments,
                                   snapshot->start_blocks, snapshot->n_start_blocks, &arena);
    tide_boundary end = numbered(snapshot, snapshot->end_segments, snapshot->n_end_segments,
                                 snapshot->end_blocks, snapshot->n_end_blocks, &arena);
    compare(&states[first], &start, events, NULL);
    compare(&states[first + n_kept], &end, events, NULL);
    tide_snapshot_destroy(snapshot);
    tide_arena_fini(&arena);
}

static void a_file_of_any_length_knows_what_was_alive(void **state) {
    (void)state;
    static model states[N_EVENTS + 1];
    static tide_event events[N_EVENTS];
    const char *place = getenv("TMPDIR");
    char folder[256], path[300];
    snprintf(folder, sizeof(folder), "%.200s/tidemark-ring-XXXXXX", place != NULL ? place : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/x.log", folder);
    make_history(5, states, events);
    for (size_t i = 0; i < N_EVENTS; i++) {
        events[i].time_ns = (int64_t)i;
    }
    for (size_t n_rows = 1; n_rows <= N_EVENTS; n_rows += n_rows < 40 ? 1 : 7) {
        leave_file(path, n_rows, 200, events, false);
        check_file(path, N_EVENTS, 0, states, events);
        assert_int_equal(unlink(path), 0);
        if (n_rows < N_EVENTS) {
            leave_file(path, n_rows, 200, events, true);
            check_file(path, N_EVENTS - 1, 0, states, events);
            assert_int_equal(unlink(path), 0);
        }
    }
    for (size_t max_base = 1; max_base < 12;
         max_base++) { /* too small, so the base stops the log */
        tide_event_log log;
        static tide_event rows[5], base[12];
        const tide_event_log_memory memory = {sizeof(tide_event), rows, 5, base, max_base, NULL};
        tide_event_log_init_in(&log, tide_hostmem_default(), &memory, true);
        for (size_t i = 0; i < N_EVENTS; i++) {
            append_event(&log, &events[i]);
        }
        size_t n_lost = N_EVENTS - 5 - (size_t)tide_event_log_first(&log);
        tide_event_log_fini(&log);
        leave_file(path, 5, max_base, events, false);
        assert_true(n_lost > 0);
        check_file(path, N_EVENTS, n_lost, states, events);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void events_of_another_cache_are_told(void **state) {
    (void)state;
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_error error = {""};
    tide_boundary ret;
    tide_boundary none = {NULL, 0, NULL, 0};
    const tide_event foreign[] = {base_event(TIDE_ACTION_MARK, 0, 0),
                                  base_event(TIDE_ACTION_ALLOC, 0xabc00, 512)};
    assert_int_equal(tide_boundary_before(&none, foreign, 2, NULL, 0, &arena, &ret, &error),
                     TIDE_INVALID);
    assert_non_null(strstr(error.message, "event 1 (alloc at 0xabc00)"));
    /* A block outside all segments, and two blocks that overlap. */
    assert_int_equal(tide_boundary_after(NULL, 0, foreign, 2, &arena, NULL, &ret, &error),
                     TIDE_INVALID);
    const tide_event overlapping[] = {base_event(TIDE_ACTION_SEGMENT_ALLOC, 0x10000, 4096),
                                      base_event(TIDE_ACTION_ALLOC, 0x10000, 1024),
                                      base_event(TIDE_ACTION_ALLOC, 0x10200, 512)};
    assert_int_equal(tide_boundary_after(NULL, 0, overlapping, 3, &arena, NULL, &ret, &error),
                     TIDE_INVALID);
    assert_int_equal(tide_boundary_after(NULL, 0, overlapping, 2, &arena, NULL, &ret, &error),
                     TIDE_OK);
    tide_arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_directions_agree_with_a_simulation),
        cmocka_unit_test(a_ring_of_any_length_knows_what_was_alive),
        cmocka_unit_test(a_full_base_ends_the_log),
        cmocka_unit_test(a_file_of_any_length_knows_what_was_alive),
        cmocka_unit_test(events_of_another_cache_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
