/* test_common.c - byte sizes as text, the hash table, interned strings, the arena, statistics,
 * status and names.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/arena.h"
#include "common/text/bytes.h"
#include "common/event.h"
#include "common/hostmem.h"
#include "common/map.h"
#include "common/map_rows.h"
#include "common/statistics.h"
#include "common/status.h"
#include "common/text/strings.h"
#include "common/files/text_file.h"

static void bytes_are_parsed(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } GOOD[] = {{"0", 0},
                {"1048576", 1048576},
                {"24GiB", UINT64_C(24) << 30},
                {"512 MiB", UINT64_C(512) << 20},
                {"1.5GiB", UINT64_C(3) << 29},
                {"2KiB", 2048},
                {"7B", 7},
                {"24G", UINT64_C(24) << 30},
                {"24GB", UINT64_C(24) << 30},
                {"24gb", UINT64_C(24) << 30},
                {"8 GB", UINT64_C(8) << 30},
                {"512M", UINT64_C(512) << 20},
                {"1.5T", UINT64_C(3) << 39},
                {"2k", 2048},
                {"3PiB", UINT64_C(3) << 50},
                {"7EiB", UINT64_C(7) << 60},
                {"9007199254740993", UINT64_C(9007199254740993)},
                {"9223372036854775807", INT64_MAX}};
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        uint64_t bytes = 1;
        assert_int_equal(tide_bytes_parse(GOOD[i].text, &bytes, NULL), TIDE_OK);
        assert_true(bytes == GOOD[i].bytes);
    }
    static const char *const BAD[] = {"",    "x",   "-1",       "24Gb s",    "1e999",  "G",
                                      "5Q",  "5iB", "5GBB",     "5 parsecs", "0x10",   "inf",
                                      "nan", "GiB", "1.5.2MiB", "1e3",       "1e3GiB", "1.5.2"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        uint64_t bytes = 1;
        tide_error error = {""};
        assert_int_equal(tide_bytes_parse(BAD[i], &bytes, &error), TIDE_INVALID);
        assert_true(bytes == 1);
        assert_non_null(strstr(error.message, BAD[i]));
    }
    static const char *const TOO_LARGE[] = {
        "8388608TiB",           "8192PiB", "8EB", "9223372036854775808", "99999999999999999999",
        "9223372036854775808.5"};
    for (size_t i = 0; i < sizeof(TOO_LARGE) / sizeof(TOO_LARGE[0]); i++) {
        assert_int_equal(tide_bytes_parse(TOO_LARGE[i], &(uint64_t){0}, NULL), TIDE_LIMIT);
    }
}

static void bytes_are_formatted(void **state) {
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } CASES[] = {{-1, "-"},
                 {0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {1048575, "1.00 MiB"},
                 {1179648, "1.13 MiB"}, /* 1.125 and 1.375 are both rounded up */
                 {1441792, "1.38 MiB"},
                 {1179647, "1.12 MiB"},
                 {1610612736, "1.50 GiB"},
                 {INT64_C(5) << 40, "5.00 TiB"},
                 {INT64_C(1024) << 40, "1.00 PiB"},
                 {INT64_C(1) << 62, "4096.00 PiB"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char text[TIDE_BYTES_TEXT];
        assert_string_equal(tide_bytes_format(CASES[i].bytes, text), CASES[i].text);
    }
}

static void expect_map_agrees(tide_map *map) {
    enum { N_KEYS = 512, N_STEPS = 40000 };
    uint64_t values[N_KEYS] = {0}; /* 0: the key is not in the map */
    uint64_t random = 42;
    for (int step = 0; step < N_STEPS; step++) {
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        size_t key = (size_t)(random % N_KEYS);
        if ((random >> 32) % 3 == 0) {
            assert_int_equal(tide_map_remove(map, key * 512), values[key] != 0);
            values[key] = 0;
        } else {
            values[key] = (random >> 40) + 1;
            assert_int_equal(tide_map_put(map, key * 512, values[key]), TIDE_OK);
        }
        uint64_t found = 0;
        size_t other = (size_t)((random >> 16) % N_KEYS);
        assert_int_equal(tide_map_find(map, other * 512, &found), values[other] != 0);
        assert_true(found == values[other]);
    }
    tide_map_fini(map);
}

static void map_agrees_with_a_plain_array(void **state) {
    (void)state;
    tide_map map;
    tide_map_init(&map, tide_hostmem_default());
    expect_map_agrees(&map);
}

static void a_zeroed_map_is_ready(void **state) {
    (void)state;
    static tide_map map;
    assert_false(tide_map_find(&map, 0, NULL));
    tide_map_fini(&map);
    expect_map_agrees(&map);
    expect_map_agrees(&map); /* again, after its end */
}

static void rows_by_keys(void **state) {
    (void)state;
    static tide_map_rows rows;
    enum { N = 1000 };
    for (uint64_t key = 1; key <= N; key++) {
        uint64_t *row = tide_map_rows_at(&rows, key << 40, 3 * sizeof(*row));
        assert_non_null(row);
        assert_int_equal(row[0] | row[1] | row[2], 0); /* new */
        row[0] = row[2] = key;
    }
    for (uint64_t key = N; key > 0; key--) {
        const uint64_t *row = tide_map_rows_at(&rows, key << 40, 3 * sizeof(*row));
        assert_int_equal(row[0], key);
        assert_int_equal(row[1], 0);
        assert_int_equal(row[2], key);
    }
    assert_int_equal(rows.n, N);
    tide_map_fini(&rows.places);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, rows.rows);
}

static void strings_are_interned(void **state) {
    (void)state;
    tide_strings strings;
    tide_strings_init(&strings, tide_hostmem_default());
    uint32_t a = 9;
    uint32_t b = 9;
    uint32_t none = 9;
    assert_int_equal(tide_strings_intern(&strings, "layers.0", &a), TIDE_OK);
    assert_int_equal(tide_strings_intern(&strings, "layers.1", &b), TIDE_OK);
    assert_int_equal(a, 0);
    assert_int_equal(b, 1);
    assert_int_equal(tide_strings_intern_n(&strings, "layers.0.attn", 8, &b), TIDE_OK);
    assert_int_equal(b, 0);
    assert_int_equal(tide_strings_intern(&strings, NULL, &none), TIDE_OK);
    assert_true(none == UINT32_MAX);
    assert_string_equal(tide_strings_text(&strings, 1), "layers.1");
    assert_null(tide_strings_text(&strings, 2));
    tide_strings_fini(&strings);
}

static void arena_hands_out_zeroed_aligned_memory(void **state) {
    (void)state;
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    for (size_t n = 0; n < 200; n++) {
        unsigned char *memory = tide_arena_alloc(&arena, n * 37, 1);
        assert_non_null(memory);
        assert_true((uintptr_t)memory % 16 == 0);
        for (size_t i = 0; i < n * 37; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xff, n * 37);
    }
    assert_null(tide_arena_alloc(&arena, SIZE_MAX / 2, 8));
    assert_string_equal(tide_arena_text_n(&arena, "segment", 3), "seg");
    tide_arena_fini(&arena);
}

static void statistics_of_a_few_samples(void **state) {
    (void)state;
    const double samples[] = {2.0, 4.0, -1.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
    tide_statistics of = tide_statistics_of(samples, 9);
    assert_float_equal(of.mean, 5.0, 0.0);
    assert_true(fabs(of.std - sqrt(32.0 / 7.0)) < 1e-15);
    assert_float_equal(tide_statistics_population_std(samples, 9), 2.0, 0.0);
    assert_float_equal(tide_statistics_of(samples, 1).std, -1.0,
                       0.0); /* a single sample has no spread */
    assert_float_equal(tide_statistics_population_std(samples, 1), 0.0, 0.0);
    assert_float_equal(of.median, 4.5, 0.0);
    assert_float_equal(of.min, 2.0, 0.0);
    assert_float_equal(of.max, 9.0, 0.0);
    of = tide_statistics_of(samples, 0);
    assert_float_equal(of.mean, -1.0, 0.0);
    assert_float_equal(of.median, -1.0, 0.0);
    const double odd[] = {3.0, 1.0, 2.0};
    assert_float_equal(tide_statistics_of(odd, 3).median, 2.0, 0.0);
    const double extremes[] = {-0.0, 0.0, 1e300, NAN, INFINITY};
    assert_true(tide_statistics_of(extremes, 3).median == 0.0);
    assert_true(tide_statistics_of(extremes + 1, 2).median == 5e299);
    assert_true(isinf(tide_statistics_of(extremes + 3, 2).median));
}

static void the_best_ten_are_in_a_row_and_whole(void **state) {
    (void)state;
    double samples[29];
    for (size_t i = 0; i < 29; i++) {
        samples[i] = i < 10 ? 3.0 : i < 20 ? 2.0 + (double)(i % 2) : 1.0;
    }
    assert_float_equal(tide_statistics_best_ten(samples, 29), 2.5, 1e-12); /* 20 to 28 are nine */
    assert_float_equal(tide_statistics_best_ten(samples, 19), 3.0, 1e-12);
    assert_float_equal(tide_statistics_best_ten(samples, 9), -1.0, 0.0);
    samples[15] = -1.0;
    assert_float_equal(tide_statistics_best_ten(samples, 29), 3.0, 1e-12);
}

/* Figures computed by hand from the formula in the header: 12, 14, 16 over 9, 10, 11 have
 * u = 4 / (3 196) and 1 / (3 100), 0.010136 together, and 3.565 degrees, of which 3 count. */
static void ratios_have_a_confidence_interval(void **state) {
    (void)state;
    const double over[] = {12.0, -1.0, 14.0, 16.0};
    const double under[] = {9.0, 10.0, 11.0};
    const double same[] = {5.0, 5.0};
    const double wild[] = {1e300, 1e-300, 3.0};
    tide_ratio of = tide_ratio_of_means(over, 4, under, 3);
    assert_true(fabs(of.ratio - 1.4) < 1e-12);
    assert_true(fabs(of.half_width - 3.182 * 1.4 * sqrt(4.0 / 588.0 + 1.0 / 300.0)) < 1e-9);
    of = tide_ratio_of_means(same, 2, same, 2);
    assert_true(of.ratio == 1.0 && of.half_width == 0.0);
    of = tide_ratio_of_means(over, 1, under, 3);
    assert_true(fabs(of.ratio - 1.2) < 1e-12);
    assert_true(of.half_width == -1.0);
    of = tide_ratio_of_means(over + 1, 1, under, 3);
    assert_true(of.ratio == -1.0 && of.half_width == -1.0);
    of = tide_ratio_of_means(NULL, 0, NULL, 0);
    assert_true(of.ratio == -1.0 && of.half_width == -1.0);
    of = tide_ratio_of_means(wild, 3, wild, 3);
    assert_true(of.half_width >= -1.0); /* not NaN */
}

/* For many samples Student's quantile is near the normal one: 2.0017 for 58 degrees of freedom. */
static void ratios_of_many_samples(void **state) {
    (void)state;
    double samples[30];
    for (size_t i = 0; i < 30; i++) {
        samples[i] = i % 2 == 0 ? 9.0 : 11.0;
    }
    tide_ratio of = tide_ratio_of_means(samples, 30, samples, 30);
    assert_true(fabs(of.ratio - 1.0) < 1e-12);
    assert_true(fabs(of.half_width - 2.0017 * sqrt(2.0 / (29.0 * 100.0))) < 1e-5);
}

/* A file may contain any number of samples: comparing each with each would take hours. */
static void statistics_of_many_samples_are_exact(void **state) {
    (void)state;
    enum { N_SAMPLES = 1000001 };
    static double samples[N_SAMPLES];
    for (size_t i = 0; i < N_SAMPLES; i++) {
        samples[i] = (double)(i * 7919 % N_SAMPLES); /* each of 0 .. 1000000 once */
    }
    tide_statistics of = tide_statistics_of(samples, N_SAMPLES);
    assert_true(of.median == 500000.0);
    assert_true(of.max == 1000000.0);
}

static void values_are_found_in_text_files(void **state) {
    (void)state;
    char path[] = "/tmp/tidemark-common-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    static const char TEXT[] = "MemTotal: 1 kB\nMemFree:\t 22 kB\nNAME=\"A b\"\nno separator\n";
    assert_int_equal(write(descriptor, TEXT, sizeof(TEXT) - 1), sizeof(TEXT) - 1);
    assert_int_equal(close(descriptor), 0);
    char value[8] = "before";
    assert_false(tide_text_file_value(path, "Mem:", ':', value, sizeof(value)));
    assert_false(tide_text_file_value(path, "no separator", ':', value, sizeof(value)));
    assert_false(tide_text_file_value("/no/such/file", "MemFree", ':', value, sizeof(value)));
    assert_string_equal(value, "before");
    assert_true(tide_text_file_value(path, "MemFree", ':', value, sizeof(value)));
    assert_string_equal(value, "22 kB");
    assert_true(tide_text_file_value(path, "NAME", '=', value, sizeof(value)));
    assert_string_equal(value, "A b");
    assert_true(tide_text_file_value(path, "NAME", '=', value, 2));
    assert_string_equal(value, "A");
    assert_int_equal(remove(path), 0);
}

static void text_files_are_read_whole(void **state) {
    (void)state;
    char path[] = "/tmp/tidemark-common-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    enum { N_BYTES = (1 << 18) + 1 }; /* more than two of the parts that are read */
    char *written = calloc(1, N_BYTES + 1);
    assert_non_null(written);
    for (size_t i = 0; i < N_BYTES; i++) {
        written[i] = (char)('a' + i % 23);
    }
    assert_int_equal(write(descriptor, written, N_BYTES), N_BYTES);
    assert_int_equal(close(descriptor), 0);
    char *text = NULL;
    size_t n_bytes = 0;
    tide_error error = {""};
    assert_int_equal(tide_text_file_read(path, N_BYTES, &text, &n_bytes, &error), TIDE_OK);
    assert_int_equal(n_bytes, N_BYTES);
    assert_string_equal(text, written);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    char expected[128];
    snprintf(expected, sizeof(expected), "%s: it is longer than the limit of 256.00 KiB", path);
    assert_int_equal(tide_text_file_read(path, N_BYTES - 1, &text, NULL, &error), TIDE_LIMIT);
    assert_string_equal(error.message, expected);
    assert_int_equal(remove(path), 0);
    snprintf(expected, sizeof(expected), "%s: No such file or directory", path);
    assert_int_equal(tide_text_file_read(path, 1, &text, NULL, &error), TIDE_IO);
    assert_string_equal(error.message, expected);
    assert_int_equal(tide_text_file_read("/", 1, &text, NULL, &error), TIDE_IO);
    assert_string_equal(error.message, "/: it cannot be read to its end");
    free(written);
}

static void errors_keep_the_first_line_and_are_cut_at_the_end(void **state) {
    (void)state;
    tide_error error = {""};
    assert_int_equal(tide_fail(&error, TIDE_IO, "cannot open %s", "x"), TIDE_IO);
    tide_error_prefix(&error, "reading %d", 7);
    assert_string_equal(error.message, "reading 7: cannot open x");
    char longest[4096];
    memset(longest, 'y', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    tide_fail(&error, TIDE_IO, "%s", longest);
    tide_error_prefix(&error, "prefix");
    assert_true(strlen(error.message) < sizeof(error.message));
    assert_int_equal(tide_fail(NULL, TIDE_LIMIT, "without a listener"), TIDE_LIMIT);
}

static void names_lead_back_to_their_numbers(void **state) {
    (void)state;
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        assert_int_equal(tide_action_from_name(tide_action_name(i)), i);
    }
    for (int i = 0; i < TIDE_N_CATEGORIES; i++) {
        assert_int_equal(tide_category_from_name(tide_category_name(i)), i);
    }
    for (int i = 0; i < TIDE_N_SCOPE_KINDS; i++) {
        assert_int_equal(tide_scope_kind_from_name(tide_scope_kind_name(i)), i);
    }
    for (int i = 0; i < TIDE_N_BLOCK_STATES; i++) {
        assert_int_equal(tide_block_state_from_name(tide_block_state_name(i)), i);
    }
    assert_int_equal(tide_category_from_name("weights"), -1);
    assert_string_equal(tide_action_name(99), "?");
    assert_true(tide_action_has_address(TIDE_ACTION_SEGMENT_FREE));
    assert_false(tide_action_has_address(TIDE_ACTION_OOM));
    assert_int_equal(sizeof(tide_event), 48);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_parsed),
        cmocka_unit_test(bytes_are_formatted),
        cmocka_unit_test(map_agrees_with_a_plain_array),
        cmocka_unit_test(a_zeroed_map_is_ready),
        cmocka_unit_test(strings_are_interned),
        cmocka_unit_test(arena_hands_out_zeroed_aligned_memory),
        cmocka_unit_test(statistics_of_a_few_samples),
        cmocka_unit_test(the_best_ten_are_in_a_row_and_whole),
        cmocka_unit_test(ratios_have_a_confidence_interval),
        cmocka_unit_test(ratios_of_many_samples),
        cmocka_unit_test(statistics_of_many_samples_are_exact),
        cmocka_unit_test(values_are_found_in_text_files),
        cmocka_unit_test(text_files_are_read_whole),
        cmocka_unit_test(errors_keep_the_first_line_and_are_cut_at_the_end),
        cmocka_unit_test(rows_by_keys),
        cmocka_unit_test(names_lead_back_to_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
