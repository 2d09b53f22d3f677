/* test_ranges.c - the ranges of settings by version of PyTorch, and that
 * docs/internals/allocator.md states the newest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "allocator/ranges.h"

static void versions_are_read(void **state) {
    (void)state;
    assert_int_equal(tide_setting_torch_of("2.14.1+cu130"), 2014);
    assert_int_equal(tide_setting_torch_of("1.13.0"), 1013);
    assert_int_equal(tide_setting_torch_of("2.9"), 2009);
    assert_int_equal(tide_setting_torch_of(NULL), TIDE_TORCH_NEWEST);
    assert_int_equal(tide_setting_torch_of(""), TIDE_TORCH_NEWEST);
    assert_int_equal(tide_setting_torch_of("nightly"), TIDE_TORCH_NEWEST);
    assert_int_equal(tide_setting_torch_of("2"), TIDE_TORCH_NEWEST);
    assert_int_equal(tide_setting_torch_of("2.x"), TIDE_TORCH_NEWEST);
}

static void a_version_accepts_its_own_ranges(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        int torch;
        int holds;
    } CASES[] = {
        {"large_segment_size_mb:10", TIDE_TORCH_NEWEST, 0},
        {"large_segment_size_mb:11", TIDE_TORCH_NEWEST, 1},
        {"large_segment_size_mb:12", 2011, 1},
        {"large_segment_size_mb:12", 2010, 0},
        {"expandable_segments:True", 2001, 1},
        {"expandable_segments:True", 2000, 0},
        {"expandable_segments:True,large_segment_size_mb:12", 2010, 0},
        {"max_split_size_mb:20", 2008, 0},
        {"max_split_size_mb:21", 2008, 1},
        {"max_split_size_mb:20", 2009, 1},
        {"garbage_collection_threshold:0.8", 2014, 1},
        {"garbage_collection_threshold:1", 2014, 0},
        {"garbage_collection_threshold:0", 2014, 0},
        {"roundup_power2_divisions:8", 1012, 0},
        {"roundup_power2_divisions:8,max_split_size_mb:128", 1013, 1},
        {"no_such_setting:1", TIDE_TORCH_NEWEST, 0},
        {"max_split_size_mb", TIDE_TORCH_NEWEST, 0},
        {"", 2014, 1},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_setting_ranges_hold(CASES[i].settings, CASES[i].torch),
                         CASES[i].holds);
    }
}

/* The row of a setting lists its newest words in the column of values. */
static void the_document_states_the_newest_ranges(void **state) {
    (void)state;
    static char text[1 << 17];
    FILE *file = fopen(TIDE_DOCS "/internals/allocator.md", "rb");
    size_t n = 0;
    assert_non_null(file);
    size_t n_text = fread(text, 1, sizeof(text) - 1, file);
    assert_true(n_text > 0 && n_text < sizeof(text) - 1);
    assert_int_equal(fclose(file), 0);
    const tide_setting_range *ranges = tide_setting_ranges(&n);
    for (size_t i = 0; i < n; i++) {
        char row[256];
        const tide_setting_range *newest = tide_setting_range_of(ranges[i].name, TIDE_TORCH_NEWEST);
        assert_int_equal(tide_setting_range_of(ranges[i].name, ranges[i].since) == &ranges[i], 1);
        (void)snprintf(row, sizeof(row), "\n| `%s` | %s |", newest->name, newest->words);
        if (strstr(text, row) == NULL) {
            fail_msg("docs/internals/allocator.md lacks \"%s\"", row + 1);
        }
    }
}

/* The parser accepts the least whole value of each range and refuses the one below it. */
static void the_parser_has_the_same_bounds(void **state) {
    (void)state;
    size_t n = 0;
    const tide_setting_range *ranges = tide_setting_ranges(&n);
    for (size_t i = 0; i < n; i++) {
        const tide_setting_range *newest = tide_setting_range_of(ranges[i].name, TIDE_TORCH_NEWEST);
        size_t n_name = strlen(newest->name);
        if (strcmp(newest->name + n_name - 3, "_mb") != 0) {
            continue;
        }
        for (int below = 0; below < 2; below++) {
            tide_cache_config config;
            char conf[128];
            tide_cache_config_init(&config);
            (void)snprintf(conf, sizeof(conf), "%s%s:%.0f",
                           newest->needs_segment ? "large_segment_size_mb:11," : "", newest->name,
                           newest->least - below);
            assert_int_equal(tide_cache_config_parse(&config, conf, NULL) == TIDE_OK, !below);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_read),
        cmocka_unit_test(a_version_accepts_its_own_ranges),
        cmocka_unit_test(the_document_states_the_newest_ranges),
        cmocka_unit_test(the_parser_has_the_same_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
