/* test_fit_words.c - whether a run fits its virtual card, as its file shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/document/snapshot.h"
#include "snapshot/explain/words/fit_words.h"

#define GIB (INT64_C(1) << 30)

static const tide_snapshot_device CARDS[] = {{"virtual", "RTX 3090", 24 * GIB, 86, -1, -1, -1, -1},
                                             {"cuda", "RTX 3090", 24 * GIB, 86, -1, -1, -1, -1}};

/* A completed run that leaves `left` bytes. */
typedef struct made_run {
    tide_snapshot *snapshot;
    tide_snapshot_driver_account accounts[2];
    tide_snapshot_work_areas areas;
} made_run;

static void make(made_run *ret, int64_t left_bytes, int64_t unmeasured_bytes) {
    *ret = (made_run){.areas = TIDE_SNAPSHOT_NO_WORK_AREAS};
    for (uint32_t i = 0; i < 2; i++) {
        ret->accounts[i] =
            (tide_snapshot_driver_account){.device = i,
                                           .total_bytes = 24 * GIB,
                                           .used_at_peak_bytes = 24 * GIB - left_bytes,
                                           .unmeasured_bytes = unmeasured_bytes};
    }
    assert_int_equal(tide_snapshot_create(NULL, &ret->snapshot), TIDE_OK);
    ret->areas.device = 0;
    ret->snapshot->devices = CARDS;
    ret->snapshot->n_devices = 2;
    ret->snapshot->driver_accounts = ret->accounts;
    ret->snapshot->n_driver_accounts = 2;
    ret->snapshot->work_areas = &ret->areas;
    ret->snapshot->n_work_areas = 1;
    ret->snapshot->run.outcome = TIDE_SNAPSHOT_COMPLETED;
}

static void drop(made_run *made) {
    tide_snapshot_destroy(made->snapshot);
}

static void expect(const made_run *of, const char *fits, const char *words) {
    char text[512] = "";
    tide_text to = tide_text_in(text, sizeof(text));
    const char *found = tide_fit_of(of->snapshot, 0);
    tide_fit_words_add(of->snapshot, 0, &to);
    assert_string_equal(found != NULL ? found : "unknown", fits);
    assert_string_equal(text, words);
}

static void a_run_that_leaves_enough(void **state) {
    (void)state;
    made_run made;
    make(&made, 2 * GIB, 2 * GIB);
    expect(&made, "yes", "");
    drop(&made);
    make(&made, 0, 0);
    expect(&made, "yes", "");
    drop(&made);
}

static void a_run_near_the_limit(void **state) {
    (void)state;
    made_run made;
    make(&made, GIB, GIB + GIB / 2);
    expect(&made, "near",
           "The run fits RTX 3090, near the limit: 1,024 MiB are left, less than what is not "
           "measured: up to 1,536 MiB for the card's context.");
    made.areas = (tide_snapshot_work_areas){.device = 0,
                                            .likely_bytes = 1,
                                            .most_bytes = 2,
                                            .reserved_none_bytes = GIB,
                                            .reserved_likely_bytes = 2 * GIB,
                                            .reserved_most_bytes = 2 * GIB + GIB / 4};
    expect(&made, "near",
           "The run fits RTX 3090, near the limit: 1,024 MiB are left, less than what is not "
           "measured: up to 1,280 MiB for the card's context, and up to 256 MiB more for the "
           "largest work areas of cuDNN.");
    made.accounts[0].unmeasured_bytes = GIB / 4;
    made.accounts[0].used_at_peak_bytes = 24 * GIB - GIB / 8;
    expect(&made, "near",
           "The run fits RTX 3090, near the limit: 128 MiB are left, less than what is not "
           "measured: up to 256 MiB more for the largest work areas of cuDNN.");
    drop(&made);
    make(&made, GIB, 0);
    made.areas.is_most_refused = true;
    expect(&made, "near",
           "The run fits RTX 3090, near the limit: 1,024 MiB are left, too little for the largest "
           "work areas of cuDNN, where PyTorch chooses plans with smaller ones.");
    made.areas.device = 1;
    expect(&made, "yes", "");
    drop(&made);
}

static void what_the_file_does_not_show(void **state) {
    (void)state;
    made_run made;
    make(&made, GIB, -1);
    expect(&made, "unknown", "");
    drop(&made);
    make(&made, GIB, 2 * GIB);
    made.snapshot->run.outcome = "failed";
    expect(&made, "unknown", "");
    assert_null(tide_fit_of(made.snapshot, 1)); /* a GPU */
    assert_null(tide_fit_of(made.snapshot, 2));
    made.snapshot->run.outcome = TIDE_SNAPSHOT_OOM;
    expect(&made, "no", "");
    made.snapshot->n_driver_accounts = 0;
    expect(&made, "unknown", "");
    drop(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_leaves_enough),
        cmocka_unit_test(a_run_near_the_limit),
        cmocka_unit_test(what_the_file_does_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
