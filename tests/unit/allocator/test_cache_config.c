/* test_cache_config.c - the settings' text, what is refused and how, and the sizes that follow. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache_internal.h"

#define MIB ((size_t)1 << 20)

static tide_cache_config parsed(const char *text) {
    tide_cache_config config;
    tide_error error = {""};
    tide_cache_config_init(&config);
    if (tide_cache_config_parse(&config, text, &error) != TIDE_OK) {
        fail_msg("\"%s\": %s", text, error.message);
    }
    return config;
}

static void defaults_are_pytorchs(void **state) {
    (void)state;
    tide_cache_config config = parsed("");
    assert_int_equal(config.min_block_bytes, 512);
    assert_int_equal(config.small_bytes, 1048576);
    assert_int_equal(config.small_segment_bytes, 2097152);
    assert_int_equal(config.min_large_bytes, 10485760);
    assert_int_equal(config.large_segment_bytes, 20971520);
    assert_int_equal(config.round_large_bytes, 2097152);
    assert_true(config.max_split_bytes == TIDE_UNLIMITED);
    assert_int_equal(config.max_non_split_rounding_bytes, 20971520);
    assert_true(config.memory_limit_bytes == TIDE_UNLIMITED);
    assert_true(config.garbage_collection_threshold == 0.0);
    assert_true(config.per_process_memory_fraction == 1.0);
    assert_false(config.expandable_segments);
    for (size_t i = 0; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
        assert_int_equal(config.roundup_power2_divisions[i], 0);
    }
}

static void settings_are_read(void **state) {
    (void)state;
    tide_cache_config config = parsed("max_split_size_mb:128, garbage_collection_threshold : 0.8,,"
                                      "max_non_split_rounding_mb:40,large_segment_size_mb:12,"
                                      "per_process_memory_fraction:0.5,roundup_power2_divisions:4,"
                                      "expandable_segments:True");
    assert_true(config.expandable_segments);
    assert_int_equal(config.max_split_bytes, 128 * MIB);
    assert_int_equal(config.max_non_split_rounding_bytes, 40 * MIB);
    assert_int_equal(config.large_segment_bytes, 12 * MIB);
    assert_true(config.garbage_collection_threshold == 0.8);
    assert_true(config.per_process_memory_fraction == 0.5);
    for (size_t i = 0; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
        assert_int_equal(config.roundup_power2_divisions[i], 4);
    }
    /* settings that the text does not name keep their values */
    tide_error error = {""};
    assert_int_equal(tide_cache_config_parse(&config, "max_split_size_mb:64", &error), TIDE_OK);
    assert_int_equal(config.max_split_bytes, 64 * MIB);
    assert_int_equal(config.large_segment_bytes, 12 * MIB);
}

static void division_lists_are_read_as_pytorch_reads_them(void **state) {
    (void)state;
    tide_cache_config config =
        parsed("roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:50");
    /* keys below the first one take its value; ">" fills from the last named key on, that one
     * included */
    static const size_t EXPECTED[TIDE_N_ROUNDUP_INTERVALS] = {1, 1, 1, 1, 1, 1, 1, 1,
                                                              1, 2, 8, 8, 8, 8, 8, 8};
    assert_memory_equal(config.roundup_power2_divisions, EXPECTED, sizeof(EXPECTED));
    assert_int_equal(config.max_split_bytes, 50 * MIB);
    config = parsed("roundup_power2_divisions:[2:16,16:8]");
    static const size_t GAPS[TIDE_N_ROUNDUP_INTERVALS] = {16, 16, 0, 0, 8};
    assert_memory_equal(config.roundup_power2_divisions, GAPS, sizeof(GAPS));
    config = parsed("roundup_power2_divisions:[32768:2]");
    assert_int_equal(config.roundup_power2_divisions[0], 2);
    assert_int_equal(config.roundup_power2_divisions[15], 2);
}

static void nonsense_is_refused_and_changes_nothing(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says; /* part of the message */
    } CASES[] = {
        {"max_split_size_mb", "has no value"},
        {"max_split_size_mb:", "whole number of MiB"},
        {"max_split_size_mb:0", "whole number of MiB"},
        {"max_split_size_mb:-5", "\"-5\" (at character 35) is not"},
        {"max_split_size_mb:64MB", "\"64MB\" (at character 35) is not"},
        {"max_split_size_mb:99999999999999999999", "whole number of MiB"},
        {"max_split_size_mb:19", "below the large segment's 20 MiB"},
        {"max_split_size_mb:20,large_segment_size_mb:22", "below the large segment's 22 MiB"},
        {"max_non_split_rounding_mb:10", "at least the large segment"},
        {"max_non_split_rounding_mb:20,large_segment_size_mb:22", "the large segment (22 MiB)"},
        {"large_segment_size_mb:9", "at least 11"},
        {"large_segment_size_mb:10", "at least 11"},
        {"large_segment_size_mb:64,max_split_size_mb:32", "below the large segment's 64 MiB"},
        {"garbage_collection_threshold:1", "above 0 and below 1"},
        {"garbage_collection_threshold:nan", "\"nan\" (at character 35) is not"},
        {"garbage_collection_threshold:0.5x", "\"0.5x\" (at character 35) is not"},
        {"per_process_memory_fraction:0", "0 < x <= 1"},
        {"per_process_memory_fraction:1.5", "above 0, at most 1"},
        {"roundup_power2_divisions:3", "power of two"},
        {"roundup_power2_divisions:[3:4]", "powers of two in MiB"},
        {"roundup_power2_divisions:[4:3]", "powers of two in MiB"},
        {"roundup_power2_divisions:[65536:4]", "powers of two in MiB"},
        {"roundup_power2_divisions:[]", "powers of two in MiB"},
        {"roundup_power2_divisions:[4:2,]", "powers of two in MiB"},
        {"roundup_power2_divisions:[4:2", "powers of two in MiB"},
        {"roundup_power2_divisions:[4:2]x", "powers of two in MiB"},
        {"roundup_power2_divisions:[4]", "powers of two in MiB"},
        {"max_split_size:64", "unknown allocator setting \"max_split_size\" (at character 35)"},
        {"max_split_size:64", "garbage_collection_threshold"}, /* the valid ones */
        {"backend:cudaMallocAsync", "backend: \"cudaMallocAsync\" (at character 35) cannot apply"},
        {"backend:cudaMallocAsync", "leave it out, or write PyTorch's default, backend:native"},
        {" ,, \t backend:", "backend: \"\" (at character 41) cannot apply"},
        {"expandable_segments:true", "\"true\" (at character 35) is not True or False"},
        {"expandable_segments:1", "\"1\" (at character 35) is not True or False"},
        {"expandable_segments:", "\"\" (at character 35) is not True or False"},
        {"release_lock_on_cudamalloc:True", "one order"},
        {"pinned_use_cuda_host_register:True", "pinned host memory"},
        {"pinned_num_register_threads:8", "pinned host memory"},
        {"pinned_num_register_threads:1x", "pinned host memory"},
        {"pinned_use_background_threads:true", "pinned host memory"},
        {"pinned_reserve_segment_size_mb:64", "pinned host memory"},
        {"graph_capture_record_stream_reuse:True", "does not capture"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_cache_config config;
        tide_cache_config before;
        tide_error error = {""};
        char text[256];
        tide_cache_config_init(&config);
        tide_cache_config_init(&before);
        strcpy(text, "garbage_collection_threshold:0.25,");
        strcat(text, CASES[i].text);
        if (tide_cache_config_parse(&config, text, &error) != TIDE_INVALID) {
            fail_msg("\"%s\" was accepted", CASES[i].text);
        }
        if (strstr(error.message, CASES[i].says) == NULL) {
            fail_msg("\"%s\": \"%s\"", CASES[i].text, error.message);
        }
        assert_null(strchr(error.message, '\n'));
        assert_memory_equal(&config, &before, sizeof(config));
    }
    char longest[1024];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    tide_cache_config config = parsed("");
    assert_int_equal(tide_cache_config_parse(&config, longest, NULL), TIDE_LIMIT);
}

/* A text that PyTorch accepts is accepted here, including settings at their default. */
static void defaults_of_what_cannot_apply_are_accepted(void **state) {
    (void)state;
    tide_cache_config config = parsed(
        "backend:native,release_lock_on_cudamalloc:False,pinned_use_cuda_host_register:False,"
        "pinned_num_register_threads:1,pinned_use_background_threads:False,"
        "pinned_reserve_segment_size_mb:0,graph_capture_record_stream_reuse:False,"
        "expandable_segments:False");
    tide_cache_config defaults;
    tide_cache_config_init(&defaults);
    assert_memory_equal(&config, &defaults, sizeof(config));
}

static void the_environment_is_read(void **state) {
    (void)state;
    tide_cache_config config = parsed("");
    tide_error error = {""};
    unsetenv("TIDEMARK_ALLOC_CONF");
    assert_int_equal(tide_cache_config_from_environment(&config, &error), TIDE_OK);
    assert_true(config.max_split_bytes == TIDE_UNLIMITED);
    setenv("TIDEMARK_ALLOC_CONF", "max_split_size_mb:77", 1);
    assert_int_equal(tide_cache_config_from_environment(&config, &error), TIDE_OK);
    assert_int_equal(config.max_split_bytes, 77 * MIB);
    setenv("TIDEMARK_ALLOC_CONF", "nonsense:1", 1);
    assert_int_equal(tide_cache_config_from_environment(&config, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "TIDEMARK_ALLOC_CONF: unknown"));
    unsetenv("TIDEMARK_ALLOC_CONF");
}

static void requests_are_rounded_to_blocks(void **state) {
    (void)state;
    static const struct {
        size_t divisions; /* for all intervals */
        size_t requested;
        size_t block;
    } CASES[] = {
        {0, 1, 512},           {0, 511, 512},
        {0, 512, 512},         {0, 513, 1024},
        {0, 1048577, 1049088}, {1, 3000, 3072}, /* 1 has the effect of off */
        {4, 2048, 2048},                        /* not above 512 * 4 */
        {4, 2049, 2560},       {4, 3000, 3072},
        {4, 4096, 4096},       {4, 5 * MIB + 1, 6 * MIB},
        {8, 4097, 4608},       {8, 4096, 4096},
        {8, 2049, 2560}, /* not above 512 * 8: plain rounding */
        {2, 3 * MIB, 3 * MIB}, {2, 3 * MIB + 1, 4 * MIB},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        tide_cache_config config = parsed("");
        for (size_t k = 0; k < TIDE_N_ROUNDUP_INTERVALS; k++) {
            config.roundup_power2_divisions[k] = CASES[i].divisions;
        }
        assert_int_equal(tide_cache_round_bytes(&config, CASES[i].requested), CASES[i].block);
    }
}

static void the_interval_of_a_request_decides_its_divisions(void **state) {
    (void)state;
    tide_cache_config config = parsed("roundup_power2_divisions:[1:2,2:4,4:0,>:8]");
    /* the first value is for everything below 2 MiB; ">" overwrote the 0 of 4 MiB */
    assert_int_equal(tide_cache_round_bytes(&config, MIB + 1), MIB + MIB / 2);
    assert_int_equal(tide_cache_round_bytes(&config, 5000), 6144);
    assert_int_equal(tide_cache_round_bytes(&config, 2 * MIB + 1), 2 * MIB + MIB / 2);
    assert_int_equal(tide_cache_round_bytes(&config, 4 * MIB + 1), 4 * MIB + MIB / 2);
    assert_int_equal(tide_cache_round_bytes(&config, ((size_t)100 << 30) + 1),
                     ((size_t)104 << 30)); /* the last interval holds from 64 GiB on */
}

static void contradicting_sizes_make_no_cache(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_error error = {""};
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    tide_cache_config config = parsed("");
    config.min_block_bytes = 256;
    assert_int_equal(tide_cache_create(device, NULL, &config, &cache, &error), TIDE_INVALID);
    config = parsed("");
    config.max_split_bytes = MIB;
    assert_int_equal(tide_cache_create(device, NULL, &config, &cache, &error), TIDE_INVALID);
    config = parsed("per_process_memory_fraction:0.5");
    assert_int_equal(tide_cache_create(device, NULL, &config, &cache, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "give a memory limit instead"));
    assert_null(cache);
    tide_device_close(device);
}

static void a_fraction_of_the_device_is_a_limit(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_device_options options = {.capacity_bytes = 100 * MIB};
    assert_int_equal(tide_device_open("virtual", &options, &device, NULL), TIDE_OK);
    tide_cache_config config = parsed("per_process_memory_fraction:0.5");
    assert_int_equal(tide_cache_create(device, NULL, &config, &cache, NULL), TIDE_OK);
    assert_int_equal(tide_cache_get_config(cache)->memory_limit_bytes, 50 * MIB);
    tide_cache_destroy(cache);
    config.memory_limit_bytes = 30 * MIB; /* the lower of the two limits holds */
    assert_int_equal(tide_cache_create(device, NULL, &config, &cache, NULL), TIDE_OK);
    assert_int_equal(tide_cache_get_config(cache)->memory_limit_bytes, 30 * MIB);
    tide_cache_destroy(cache);
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_pytorchs),
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(division_lists_are_read_as_pytorch_reads_them),
        cmocka_unit_test(nonsense_is_refused_and_changes_nothing),
        cmocka_unit_test(defaults_of_what_cannot_apply_are_accepted),
        cmocka_unit_test(the_environment_is_read),
        cmocka_unit_test(requests_are_rounded_to_blocks),
        cmocka_unit_test(the_interval_of_a_request_decides_its_divisions),
        cmocka_unit_test(contradicting_sizes_make_no_cache),
        cmocka_unit_test(a_fraction_of_the_device_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
