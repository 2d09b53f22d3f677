/* test_digest.c - the digest of a recording: the rank of a file, a peak that survives shrinking, a
 * round trip through a file, and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "snapshot/ranks/digest.h"

#define LIVE TIDE_TEST_SNAPSHOTS "/version-1-live.json.gz"

static void names_tell_ranks(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int64_t rank;
    } CASES[] = {
        {"rank7.pickle", 7},
        {"run_rank_12.json.gz", 12},
        {"a/rank-0.json", 0},
        {"x-r3.pickle", 3},
        {"snapshot.1023.pickle", 1023},
        {"out/rank=5/a.pickle", 5},
        {"rank=5/rank6.pickle", 6},
        {"r4.json.gz", 4},
        {"frank7.pickle", -1},
        {"rank7b.pickle", -1},
        {"run-2024.json.gz", -1},
        {"car3.pickle", -1},
        {"rank12345678901.pickle", -1},
        {"x.7", -1},
        {"", -1},
        {"/", -1},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        if (tide_digest_rank_of_path(CASES[i].path) != CASES[i].rank) {
            fail_msg("'%s': %lld", CASES[i].path,
                     (long long)tide_digest_rank_of_path(CASES[i].path));
        }
    }
    assert_int_equal(tide_digest_rank_of_text("rank 7"), 7);
    assert_int_equal(tide_digest_rank_of_text("RANK=12"), 12);
    assert_int_equal(tide_digest_rank_of_text("rank 7 of 8"), -1);
    assert_int_equal(tide_digest_rank_of_text("prank 7"), -1);
}

typedef struct made {
    tide_arena arena;
    tide_snapshot *snapshot;
    tide_digest *digest;
} made;

static made make(const char *path, int64_t rank) {
    made of = {.snapshot = NULL};
    tide_error error = {""};
    const tide_digest_source source = {path, rank};
    tide_arena_init(&of.arena, tide_hostmem_default());
    assert_int_equal(tide_snapshot_load(LIVE, NULL, &of.snapshot, &error), TIDE_OK);
    assert_int_equal(tide_digest_make(of.snapshot, &source, &of.arena, &of.digest, &error),
                     TIDE_OK);
    return of;
}

static void release(made *of) {
    tide_snapshot_destroy(of->snapshot);
    tide_arena_fini(&of->arena);
}

static void what_is_asked_for_comes_before_what_is_found(void **state) {
    (void)state;
    made of = make("/somewhere/rank7.json.gz", 9);
    assert_int_equal(of.digest->rank.rank, 9);
    assert_string_equal(of.digest->from, TIDE_RANK_OPTION);
    assert_string_equal(of.digest->file, "rank7.json.gz");
    release(&of);
    of = make("/somewhere/rank7.json.gz", -1);
    assert_int_equal(of.digest->rank.rank, 7);
    assert_string_equal(of.digest->from, TIDE_RANK_FILE_NAME);
    release(&of);
}

static int64_t sum_of(const tide_digest_device *device) {
    int64_t sum = device->rest.bytes;
    for (size_t i = 0; i < device->n_rows; i++) {
        sum += device->rows[i].bytes;
    }
    return sum;
}

static void rows_and_rest_are_the_peak(void **state) {
    (void)state;
    made of = make("a", -1);
    size_t n_rounds = 0;
    do {
        for (size_t i = 0; i < of.digest->n_devices; i++) {
            const tide_digest_device *device = &of.digest->devices[i];
            int64_t highest = 0, highest_step = 0;
            assert_int_equal(sum_of(device), device->peak.bytes.allocated_bytes);
            for (size_t p = 0; p < device->n_points; p++) {
                highest = device->points[p].allocated_bytes > highest
                              ? device->points[p].allocated_bytes
                              : highest;
            }
            for (size_t s = 0; s < device->n_steps; s++) {
                highest_step = device->steps[s].allocated_peak_bytes > highest_step
                                   ? device->steps[s].allocated_peak_bytes
                                   : highest_step;
            }
            assert_int_equal(highest, i == 0 ? 4195328 : device->max.allocated_bytes);
            assert_int_equal(highest_step, device->max.allocated_bytes);
        }
        n_rounds++;
    } while (tide_digest_shrink(of.digest));
    assert_true(n_rounds > 1);
    assert_int_equal(of.digest->devices[0].headroom_bytes, 85899345920 - 8388608);
    assert_int_equal(of.digest->devices[0].oom.requested_bytes, 99999999999);
    release(&of);
}

static void it_comes_back_as_it_was_written(void **state) {
    (void)state;
    char path[] = "/tmp/test_digest_XXXXXX.json.gz";
    static const tide_snapshot_group GROUPS[] = {{"tp", "d", 8, 3, 0, 1}};
    const char *before = NULL, *after = NULL;
    size_t n_before = 0, n_after = 0;
    tide_digest *read = NULL;
    tide_error error = {""};
    made of = make("a", 3);
    of.digest->rank.groups = GROUPS;
    of.digest->rank.n_groups = 1;
    (void)close(mkstemps(path, 8));
    assert_int_equal(tide_digest_save(of.digest, path, &error), TIDE_OK);
    assert_true(tide_digest_is(path));
    assert_false(tide_digest_is(LIVE));
    if (tide_digest_load(path, &of.arena, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(tide_digest_text(of.digest, &of.arena, &before, &n_before), TIDE_OK);
    assert_int_equal(tide_digest_text(read, &of.arena, &after, &n_after), TIDE_OK);
    assert_string_equal(before, after);
    (void)unlink(path);
    release(&of);
}

static void ends_of_a_range_are_those_of_the_snapshot(void **state) {
    (void)state;
    static const tide_snapshot_range ROWS[] = {{9, 1, 2, 3, 4}, {0, 100, 150, -1, 200}};
    char path[] = "/tmp/test_digest_XXXXXX.json.gz";
    const tide_digest_source source = {path, -1};
    tide_error error = {""};
    tide_snapshot *read = NULL;
    made of = make("a", 3);
    assert_int_equal(of.digest->devices[0].low_bytes, -1);
    assert_int_equal(of.digest->devices[0].reserved_high_bytes, -1);
    of.snapshot->ranges = ROWS;
    of.snapshot->n_ranges = 2;
    (void)close(mkstemps(path, 8));
    assert_int_equal(tide_snapshot_save(of.snapshot, path, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, &error), TIDE_OK);
    assert_int_equal(read->n_ranges, 2);
    assert_memory_equal(read->ranges, ROWS, sizeof(ROWS));
    assert_null(tide_snapshot_range_of(read, 1));
    assert_int_equal(tide_digest_make(read, &source, &of.arena, &of.digest, &error), TIDE_OK);
    const tide_digest_device *device = &of.digest->devices[0];
    assert_int_equal(device->low_bytes, 100);
    assert_int_equal(device->high_bytes, 150);
    assert_int_equal(device->reserved_low_bytes, -1);
    assert_int_equal(device->reserved_high_bytes, 200);
    tide_snapshot_destroy(read);
    (void)unlink(path);
    release(&of);
}

/* A program may request more than a digest can hold: its file still makes a digest. */
static void numbers_beyond_the_limit_are_the_limit(void **state) {
    (void)state;
    const char *text = NULL;
    size_t n_bytes = 0;
    tide_digest *read = NULL;
    tide_error error = {""};
    made of = make("a", 3);
    of.digest->devices[0].oom.requested_bytes = INT64_MAX;
    of.digest->devices[0].headroom_bytes = INT64_MIN;
    of.digest->rank.world_size = INT64_MAX;
    of.digest->devices[0].points[0].allocated_bytes = INT64_MAX;
    of.digest->devices[0].points[0].time_ns = -7;
    of.digest->devices[0].end.allocated_bytes = -7;
    of.digest->devices[0].explained.failure.margin_bytes = INT64_MIN;
    assert_int_equal(tide_digest_text(of.digest, &of.arena, &text, &n_bytes), TIDE_OK);
    if (tide_digest_read(text, n_bytes, &of.arena, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(read->devices[0].oom.requested_bytes, TIDE_DIGEST_MOST_NUMBER);
    assert_int_equal(read->devices[0].headroom_bytes, -TIDE_DIGEST_MOST_NUMBER);
    assert_int_equal(read->devices[0].points[0].allocated_bytes, TIDE_DIGEST_MOST_NUMBER);
    assert_int_equal(read->rank.world_size, TIDE_DIGEST_MOST_NUMBER);
    assert_int_equal(read->devices[0].points[0].time_ns, -1);
    assert_int_equal(read->devices[0].end.allocated_bytes, -1);
    assert_int_equal(read->devices[0].explained.failure.margin_bytes, -TIDE_DIGEST_MOST_NUMBER);
    release(&of);
}

/* A digest of a version that had its own rule of growth. */
static void an_older_digest_explains_nothing(void **state) {
    (void)state;
#define BYTES                                                                                      \
    "{\"requested_bytes\":1,\"allocated_bytes\":1,\"active_bytes\":1,\"reserved_bytes\":1}"
    static const char TEXT[] =
        "{\"format\":\"tidemark-digest\",\"version\":1,\"devices\":[{\"index\":0,\"peak\":" BYTES
        ",\"max\":" BYTES ",\"end\":" BYTES
        ",\"growth\":{\"bytes_per_step\":7,\"since_step\":1,\"line\":\"f (a.py:1)\"}}]}";
    tide_arena arena;
    tide_digest *read = NULL;
    tide_error error = {""};
    int64_t growth = -1;
    tide_arena_init(&arena, tide_hostmem_default());
    if (tide_digest_read(TEXT, sizeof(TEXT) - 1, &arena, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_false(read->devices[0].explained.is_known);
    assert_int_equal(read->devices[0].explained.failure.event, -1);
    assert_false(tide_digest_growth_bytes(&read->devices[0], &growth));
    tide_arena_fini(&arena);
}

/* The facts of the recording, through a file. */
static void what_is_explained_comes_back(void **state) {
    (void)state;
    static const tide_digest_growth GROWTH[] = {
        {"keeps", "keep (train.py:12)", "iteration", 3000, 9000, 3}};
    const char *text = NULL;
    size_t n_bytes = 0;
    tide_digest *read = NULL;
    tide_error error = {""};
    int64_t growth = -1;
    made of = make("a", 3);
    tide_digest_device *device = &of.digest->devices[0];
    assert_true(device->explained.is_known);
    assert_true(tide_digest_growth_bytes(device, &growth));
    assert_int_equal(growth, 0);
    assert_int_equal(device->explained.failure.event, device->oom.event);
    assert_int_equal(device->explained.failure.requested_bytes, device->oom.requested_bytes);
    assert_string_equal(device->explained.failure.line, device->oom.line);
    assert_string_equal(device->explained.causes[0].id, "too_large_request");
    assert_string_equal(device->explained.sentences[1].text, device->explained.causes[0].text);
    device->explained.growth = GROWTH;
    device->explained.n_growth = 1;
    assert_int_equal(tide_digest_text(of.digest, &of.arena, &text, &n_bytes), TIDE_OK);
    if (tide_digest_read(text, n_bytes, &of.arena, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    const tide_digest_explained *back = &read->devices[0].explained;
    assert_true(tide_digest_growth_bytes(&read->devices[0], &growth));
    assert_int_equal(growth, 3000);
    assert_string_equal(back->growth[0].unit, "iteration");
    assert_int_equal(back->growth[0].n_passes, 3);
    assert_int_equal(back->n_causes, device->explained.n_causes);
    assert_string_equal(back->sentences[0].key, "oom");
    assert_int_equal(back->failure.margin_bytes, device->explained.failure.margin_bytes);
    release(&of);
}

/* Many long rows that do not compress: the file stays within its size. */
static void it_shrinks_until_it_fits(void **state) {
    (void)state;
    enum { N_ROWS = 4000, N_TEXT = 200 };
    char path[] = "/tmp/test_digest_XXXXXX.json.gz";
    tide_error error = {""};
    made of = make("a", 3);
    tide_digest_device *device = &of.digest->devices[0];
    tide_digest_row *rows = tide_arena_alloc(&of.arena, N_ROWS, sizeof(*rows));
    uint32_t random = 1;
    for (size_t i = 0; i < N_ROWS; i++) {
        char *line = tide_arena_alloc(&of.arena, N_TEXT + 1, 1);
        for (size_t c = 0; c < N_TEXT; c++) {
            random = random * 1664525U + 1013904223U;
            line[c] = (char)('a' + (random >> 24) % 26);
        }
        rows[i] = (tide_digest_row){line, "parameter", "", "", 10, 1};
    }
    device->rows = rows;
    device->n_rows = N_ROWS;
    device->rest.bytes = device->rest.n_blocks = device->rest.n_rows = 0;
    (void)close(mkstemps(path, 8));
    assert_int_equal(tide_digest_save(of.digest, path, &error), TIDE_OK);
    FILE *file = fopen(path, "rb");
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_in_range(ftell(file), TIDE_DIGEST_BYTES / 4, TIDE_DIGEST_BYTES);
    (void)fclose(file);
    assert_int_equal(device->n_rows + (size_t)device->rest.n_rows, N_ROWS);
    assert_int_equal(sum_of(device), N_ROWS * 10);
    (void)unlink(path);
    release(&of);
}

static void what_is_no_digest_is_refused(void **state) {
    (void)state;
#define HEAD "{\"format\":\"tidemark-digest\",\"version\":1,\"devices\":["
    static const struct {
        const char *text, *words;
    } CASES[] = {
        {"{\"format\":\"tidemark-snapshot\"}", "not a digest"},
        {"{\"format\":\"tidemark-digest\",\"version\":2,\"devices\":[]}", "version 2"},
        {"{\"format\":\"tidemark-digest\",\"version\":1}", "devices"},
        {HEAD "{\"index\":0}]}", "peak"},
        {HEAD "{\"index\":2000000000000000000}]}", "devices[0].index"},
        {HEAD "{\"timeline\":{\"time_ns\":[1],\"allocated_bytes\":[1,2],\"reserved_bytes\":[]}}]}",
         "different lengths"},
        {HEAD "{\"rows\":[{\"line\":7}]}]}", "rows[0].line"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char path[] = "/tmp/test_digest_XXXXXX";
        tide_arena arena;
        tide_digest *digest = NULL;
        tide_error error = {""};
        int file = mkstemp(path);
        assert_int_equal(write(file, CASES[i].text, strlen(CASES[i].text)), strlen(CASES[i].text));
        (void)close(file);
        tide_arena_init(&arena, tide_hostmem_default());
        assert_int_not_equal(tide_digest_load(path, &arena, &digest, &error), TIDE_OK);
        if (strstr(error.message, CASES[i].words) == NULL) {
            fail_msg("case %zu: %s", i, error.message);
        }
        tide_arena_fini(&arena);
        (void)unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_ranks),
        cmocka_unit_test(what_is_asked_for_comes_before_what_is_found),
        cmocka_unit_test(rows_and_rest_are_the_peak),
        cmocka_unit_test(it_comes_back_as_it_was_written),
        cmocka_unit_test(ends_of_a_range_are_those_of_the_snapshot),
        cmocka_unit_test(numbers_beyond_the_limit_are_the_limit),
        cmocka_unit_test(an_older_digest_explains_nothing),
        cmocka_unit_test(what_is_explained_comes_back),
        cmocka_unit_test(it_shrinks_until_it_fits),
        cmocka_unit_test(what_is_no_digest_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
