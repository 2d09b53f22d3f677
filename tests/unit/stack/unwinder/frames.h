/* frames.h - a tree of functions with frames of all kinds, to be compiled in several ways: with and
 * without frame pointers, with and without unwind tables, into the program and into libraries.
 */
#ifndef TIDE_TESTS_FRAMES_H
#define TIDE_TESTS_FRAMES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void frames_function(uint64_t path, unsigned depth, void (*inner)(void *), void *data);

/* Calls `inner` below `depth` functions; three bits of `path`, lowest first, choose each. */
frames_function tide_test_frames;

#ifdef __cplusplus
}
#endif

#endif
