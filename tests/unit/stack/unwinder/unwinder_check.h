/* unwinder_check.h - captures call stacks and compares each with two other unwinders at the same
 * place: the unwinder compares with libunwind (TIDEMARK_UNWINDER=check), and this file with glibc's
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
    bool trusts_glibc;       /* compare with backtrace() as well; set by unwinder_check_begin */
    size_t n_differ;         /* stacks that backtrace() did not agree with */
    size_t n_missing;        /* captures without a stack */
} unwinder_check;

/* False, with a line on stderr: libunwind is missing, or the unwinder could not be made. */
bool unwinder_check_begin(unwinder_check *check, int max_frames);

/* Captures a stack, compares it, and returns its number. One thread at a time may use the counts.
 */
uint32_t unwinder_check_capture(unwinder_check *check);

/* False, with a line on stderr for each kind of difference: stacks differed. */
bool unwinder_check_end(unwinder_check *check, tide_unwinder_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
