#define _POSIX_C_SOURCE 200809L
#include "unit/stack/unwinder/unwinder_check.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

enum { MORE_FRAMES = 8 }; /* that backtrace() finds: those of this file, and of a sanitizer */

bool unwinder_check_begin(unwinder_check *check, int max_frames) {
    tide_error error = {""};
    *check = (unwinder_check){.max_frames = (size_t)max_frames, .trusts_glibc = true};
    if (setenv("TIDEMARK_UNWINDER", "check", 1) != 0 ||
        tide_stack_depot_create(tide_hostmem_default(), &check->depot) != TIDE_OK) {
        return false;
    }
    if (tide_unwinder_create(tide_hostmem_default(), check->depot, max_frames, &check->unwinder,
                             &error) != TIDE_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        tide_stack_depot_destroy(check->depot);
        return false;
    }
    return true;
}

/* Whether backtrace() found the same callers. It may have been called a few frames further in. */
static bool is_same(const unwinder_check *check, uint32_t number, void *const *found,
                    size_t n_found) {
    size_t n_pcs = 0;
    const uint64_t *pcs = tide_stack_depot_get(check->depot, number, &n_pcs);
    /* The innermost addresses differ: the caller has a call for each of the two unwinders. */
    size_t first = 0;
    while (first < n_found && n_pcs > 1 && (uint64_t)(uintptr_t)found[first] != pcs[1]) {
        first++;
    }
    size_t n_callers = n_found - first;
    n_callers = n_callers < check->max_frames - 1 ? n_callers : check->max_frames - 1;
    if (n_callers != n_pcs - 1) {
        return false;
    }
    for (size_t i = 0; i < n_callers; i++) {
        if ((uint64_t)(uintptr_t)found[first + i] != pcs[i + 1]) {
            return false;
        }
    }
    return true;
}

__attribute__((noinline)) uint32_t unwinder_check_capture(unwinder_check *check) {
    uint32_t number = tide_unwinder_capture(check->unwinder);
    if (number == UINT32_MAX) {
        check->n_missing++;
    } else if (check->trusts_glibc) {
        void *found[TIDE_MAX_FRAMES + MORE_FRAMES];
        int n_found = backtrace(found, TIDE_MAX_FRAMES + MORE_FRAMES);
        check->n_differ += !is_same(check, number, found, (size_t)n_found);
    }
    return number;
}

bool unwinder_check_end(unwinder_check *check, tide_unwinder_stats *ret_stats) {
    tide_unwinder_get_stats(check->unwinder, ret_stats);
    if (check->n_missing != 0) {
        (void)fprintf(stderr, "%zu captures without a stack\n", check->n_missing);
    }
    if (check->n_differ != 0) {
        (void)fprintf(stderr, "%zu stacks differ from backtrace()'s\n", check->n_differ);
    }
    if (ret_stats->n_mismatched != 0) {
        (void)fprintf(stderr, "%zu of %zu stacks differ from libunwind's\n",
                      (size_t)ret_stats->n_mismatched, (size_t)ret_stats->n_checked);
    }
    tide_unwinder_destroy(check->unwinder);
    tide_stack_depot_destroy(check->depot);
    return check->n_missing == 0 && check->n_differ == 0 && ret_stats->n_mismatched == 0;
}
