/* unwinder_check.h - captures call stacks and compares each with what others find at the same
 * place: the unwinder itself with libunwind (TIDEMARK_UNWINDER=check), this with glibc's
 * backtrace().
 */
#ifndef TIDE_TESTS_UNWINDER_CHECK_H
#define TIDE_TESTS_UNWINDER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/depot.h"
#include "stack/unwinder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct unwinder_check {
    tide_stack_depot *depot; /* owned */
    tide_unwinder *unwinder; /* owned */
    size_t max_frames;       /* of the unwinder */
    bool trusts_glibc;       /* compare with backtrace(), too; set by unwinder_check_begin */
    size_t n_differ;         /* stacks that were not backtrace()'s */
    size_t n_missing;        /* captures without a stack */
} unwinder_check;

/* False, with a line on stderr, where libunwind is missing or the unwinder cannot be had. */
bool unwinder_check_begin(unwinder_check *check, int max_frames);

/* Captures and compares; the counts are those of one thread. Returns the stack's number. */
uint32_t unwinder_check_capture(unwinder_check *check);

/* False, with a line for each kind on stderr, when anything differed. */
bool unwinder_check_end(unwinder_check *check, tide_unwinder_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
