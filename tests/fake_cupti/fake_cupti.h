/* fake_cupti.h - a CUPTI for tests: activity buffers with records that a test makes up. Loaded like
 * the real one; the test opens the same file and looks up tide_fake_cupti_state.
 */
#ifndef TIDE_TESTS_FAKE_CUPTI_H
#define TIDE_TESTS_FAKE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_fake_cupti {
    const char *fail_function; /* the function that answers fail_with; NULL: none */
    int fail_with;             /* 0: 999 */
    bool late_kernels;         /* their records come one flush later, in a buffer of their own */
    bool late_calls;           /* the same of the records of calls */
    size_t n_enabled;          /* kinds of activity that are on */
    size_t n_pushed;           /* external ids that were pushed and not popped */
    size_t n_buffers;          /* given and not returned */
    size_t n_refused;          /* records for which no buffer was given */
    /* A call that launches a kernel which runs for duration_ns, on the thread's scope. Records as
     * the real one writes them: the external id before the call's record, the kernel's last. */
    void (*launch)(const char *mangled_name, uint64_t duration_ns);
    /* Returns the present records from its own thread, as the real one may at any time. */
    void (*flush_elsewhere)(void);
} tide_fake_cupti;

typedef tide_fake_cupti *(*tide_fake_cupti_getter)(void);

#endif
