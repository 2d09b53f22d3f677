/* assert.h - invariants of our own code.
 *
 * TIDE_ASSERT states what this code itself guarantees: a mistake of a caller within the project, or
 * of the function. It never checks a file, a user's value or the system, whose failures are errors
 * with a message. Builds with TIDEMARK_ASSERTS (dev and the sanitizers', and the engine of the
 * page) end with the place if an invariant does not hold; others do not evaluate the condition,
 * which therefore has no side effects.
 */
#ifndef TIDE_COMMON_ASSERT_H
#define TIDE_COMMON_ASSERT_H

#if defined(TIDEMARK_ASSERTS)
#undef NDEBUG
#include <assert.h>
#define TIDE_ASSERT(condition) assert(condition)
#else
/* Not evaluated, but what it names counts as used. */
#define TIDE_ASSERT(condition) ((void)(0 && (condition)))
#endif

#endif
