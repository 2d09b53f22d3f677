/* ranks.h - the ranks of a larger world that a run starts, and the command that starts them.
 *
 * `tidemark run --world N --ranks LIST` starts one process for each rank of the list; the other
 * ranks are simulated (python/tidemark/cluster, programs/virtual_cuda/nccl/job.h).
 */
#ifndef TIDE_LAUNCH_RANKS_H
#define TIDE_LAUNCH_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/text/text.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_RANKS_MAX = 256, TIDE_RANKS_TEXT_BYTES = 4096 };

#define TIDE_RANKS_MAX_WORLD 1000000

/* Ranks in increasing order, each once. */
typedef struct tide_ranks {
    int64_t ranks[TIDE_RANKS_MAX];
    size_t n;
} tide_ranks;

/* Reads "0,7,500-511". TIDE_INVALID names the error: not a number, a descending range, a rank
 * outside the world; TIDE_LIMIT: more than TIDE_RANKS_MAX. */
TIDE_NODISCARD tide_status tide_ranks_parse(const char *text, int64_t world, tide_ranks *ret,
                                            tide_error *error);

/* Adds a rank unless it is present. False: there is no room. */
bool tide_ranks_add(tide_ranks *to, int64_t rank);

/* "0,7,8,9", and "0, 7-9" for people. */
void tide_ranks_write(const int64_t *ranks, size_t n, tide_text *to);
void tide_ranks_say(const int64_t *ranks, size_t n, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
