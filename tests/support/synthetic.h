/* synthetic.h - made-up snapshots for tests. They show the training steps of a transformer as a
 * recording would, with scopes, names and call stacks. The same configuration gives the same rows.
 */
#ifndef TIDE_TESTS_SUPPORT_SYNTHETIC_H
#define TIDE_TESTS_SUPPORT_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

typedef struct synthetic_config {
    uint64_t seed;           /* seed of times and odd sizes */
    size_t n_events;         /* exact number of events, unless memory runs out first */
    size_t n_layers;         /* at least 1 */
    size_t element_bytes;    /* bytes of an element of an activation: 4, or 2 for bf16 */
    uint64_t capacity_bytes; /* of the device; an allocation beyond it ends the run with an oom row;
                                0: unlimited */
    bool two_streams;        /* some temporaries are freed while another stream uses them */
    const char *precision;
} synthetic_config;

synthetic_config synthetic_default(void);

/* NULL when there is no memory. The caller destroys it. */
tide_snapshot *synthetic_create(const synthetic_config *config);

#endif
