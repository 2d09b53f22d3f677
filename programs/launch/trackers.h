/* trackers.h - experiment trackers in a run whose writes are kept away. They would report losses of
 * zero as results, so they are set to a mode that reports nothing.
 *
 * The user's choice is kept if it can work. Weights & Biases offline cannot: it stores files
 * through its own Go program, which has no view of files.
 */
#ifndef TIDE_LAUNCH_TRACKERS_H
#define TIDE_LAUNCH_TRACKERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TRACKERS_TEXT_BYTES = 1024 };

/* The variable of tracker number i, and the value that a run gives it. NULL: there are no more.
 * `ret_value` NULL: the variable keeps its value. */
const char *tide_launch_tracker(size_t i, const char **ret_value);

/* "WANDB_MODE is disabled instead of online: ...": the settings of this process' environment that a
 * run replaces. "" if there are none. Returns `text`. */
char *tide_launch_trackers_replaced(char text[TIDE_TRACKERS_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
