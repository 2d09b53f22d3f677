/* test_verified_words.c - what `tidemark run --verify` says of two runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run/internal.h"

#define GIB (INT64_C(1) << 30)

static tide_run_figures first, again;

/* Two runs: the second one has another setting, and the bytes that it reserves. */
static int set_up(void **state) {
    (void)state;
    memset(&first, 0, sizeof(first));
    memset(&again, 0, sizeof(again));
    tide_cache_config_init(&first.settings);
    tide_cache_config_init(&again.settings);
    again.settings.max_split_bytes = 128 << 20;
    first.n_processes = again.n_processes = 1;
    first.reserved_bytes = 20 * GIB;
    again.reserved_bytes = 13 * GIB;
    (void)strcpy(first.remedy.settings, "max_split_size_mb:128");
    return 0;
}

static void expect(const char *words) {
    char text[TIDE_RUN_VERIFIED_BYTES];
    assert_string_equal(tide_run_verified_words(&first, &again, text), words);
}

static void a_failure(void **state) {
    (void)state;
    first.n_failed_requests = 1;
    first.has_failed = true;
    expect("verified: with PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 the same program did not "
           "run out of memory, and reserved 13.00 GiB at its peak");
    again.n_failed_requests = 1;
    again.has_failed = true;
    expect("it did not help: with PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 the same program "
           "ran out of memory, with 13.00 GiB reserved at its peak");
}

static void less_reserved(void **state) {
    (void)state;
    expect("verified: with PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 the same program reserved "
           "13.00 GiB at its peak instead of 20.00 GiB");
    again.reserved_bytes = first.reserved_bytes; /* equal is no help */
    expect("it did not help: with PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 the same program "
           "reserved 20.00 GiB at its peak instead of 20.00 GiB");
}

static void another_failure(void **state) {
    (void)state;
    const char *const words =
        "not verified: with PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 the "
        "same program failed for another reason than memory";
    again.has_failed = true;
    expect(words);
    again.has_failed = false;
    again.n_processes = 0; /* it left no recording */
    expect(words);
}

static void the_program_sets_it_itself(void **state) {
    (void)state;
    again.settings = first.settings;
    again.n_failed_requests = 1;
    expect("not verified: PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 had no effect, because the "
           "program sets the variable itself");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_failure, set_up),
        cmocka_unit_test_setup(less_reserved, set_up),
        cmocka_unit_test_setup(another_failure, set_up),
        cmocka_unit_test_setup(the_program_sets_it_itself, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
