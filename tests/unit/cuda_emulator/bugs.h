/* bugs.h - kernels with one planted bug each, and a correct one; see bugs.cu. */
#ifndef TIDE_TESTS_BUGS_H
#define TIDE_TESTS_BUGS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bug {
    BUG_NONE = 0,
    BUG_MISSING_BARRIER,
    BUG_MISSING_BARRIER_ON_REUSE,
    BUG_MISSING_SYNCWARP,
    BUG_SHUFFLE_FOR_SYNCWARP,
    BUG_BLOCKS_RACE,
    BUG_SHARED_UNWRITTEN,
    BUG_SHARED_STATIC_OUTSIDE,
    BUG_SHARED_DYNAMIC_OUTSIDE,
    BUG_GLOBAL_READ_OUTSIDE,
    BUG_GLOBAL_WRITE_OUTSIDE,
    BUG_MISALIGNED_PACK,
    BUG_MISALIGNED_FLOAT4,
    BUG_PACK_OUTSIDE,
    BUG_HOST_POINTER,
    BUG_HOST_POINTER_IN_STRUCT,
    BUG_DIVERGENT_BARRIER,
    BUG_RETURN_BEFORE_BARRIER,
    BUG_DIVERGENT_SHUFFLE,
    BUG_SHUFFLE_FROM_IDLE_LANE,
    BUG_WAIT_FOR_EVER,
    BUG_BLOCK_TOO_LARGE,
    BUG_GRID_TOO_LARGE,
    BUG_GRID_EMPTY,
    BUG_SHARED_TOO_LARGE,
    BUG_SHARED_SUM_TOO_LARGE,
    BUG_NO_DYNAMIC_SHARED,
    BUG_MISSING_COPY_WAIT,
    BUG_COPY_WITHOUT_BARRIER,
    BUG_MATRIX_OF_HALF_A_WARP,
    BUG_MATRIX_ROW_MISALIGNED,
    BUG_MATRIX_NOT_ROUNDED,
    N_BUGS
} bug;

enum { BUG_THREADS = 128 };

/* out (n) and in (n) are on the device, host (n) is not; n = BUG_THREADS. Each returns the result
 * of TIDE_LAUNCH. */
int bug_launch(bug planted, float *out, const float *in, const float *host, int n);

/* Uses dynamic shared memory of n_bytes, with and without opting in, and returns the result of
 * TIDE_LAUNCH. */
int shared_launch(float *out, size_t n_bytes, int opt_in);

#ifdef __cplusplus
}
#endif

#endif
