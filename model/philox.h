/* philox.h - Philox4x32-10, a counter-based random number generator: four 32-bit numbers are a pure
 * function of a 128-bit counter and a 64-bit key, so every device and thread computes the same
 * numbers without a state (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * In tidemark, the key is the seed, the counter's low half is element / 4, its high half the stream
 * (a number per tensor); element % 4 chooses one of the four numbers.
 */
#ifndef TIDE_MODEL_PHILOX_H
#define TIDE_MODEL_PHILOX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_philox_block {
    uint32_t words[4]; /* word i belongs to element 4 block + i */
} tide_philox_block;

/* Ten rounds over `counter` under `key`; low words first. */
tide_philox_block tide_philox4x32(const uint32_t counter[4], const uint32_t key[2]);

/* The numbers of elements 4 block .. 4 block + 3 of a stream. */
tide_philox_block tide_philox_elements(uint64_t seed, uint64_t stream, uint64_t block);

#ifdef __cplusplus
}
#endif

#endif
