/* compilers.h - a cache of compilers' output for runs whose writes are kept away. Without it a
 * program that uses torch.compile would compile everything again in each run.
 *
 * It is $XDG_CACHE_HOME/tidemark/compilers (by default in ~/.cache), with a folder for each virtual
 * card, program such as python, and build of tidemark, because compilers choose by the card's
 * properties. The user's own caches do not change, and a cache that the user set has precedence.
 */
#ifndef TIDE_LAUNCH_COMPILERS_H
#define TIDE_LAUNCH_COMPILERS_H

#include <stddef.h>

#include "programs/launch/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the folder for this run: `launch->compilers` is its path, and *ret_fd marks it as in use
 * until it is closed. "" and -1: there is no place for it. `objects` must be set. `interpreter`:
 * the program that runs; each Python has its own extensions. */
void tide_compilers_open(const tide_launch_config *config, const char *interpreter,
                         tide_launch *launch);

/* Variable number i that directs a compiler there, and the name of its folder below `compilers`.
 * NULL: there are no more. *ret_folder NULL: the user has set, or has filled, a cache. */
const char *tide_compilers_variable(size_t i, const char **ret_folder);

#ifdef __cplusplus
}
#endif

#endif
