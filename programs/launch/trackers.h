/* trackers.h - trackers of experiments in a run whose writes are kept away: they would report
 * losses of zero as if they were results, so they are set to a mode that reports nothing.
 *
 * What the user chose stays where it can work. Weights & Biases offline cannot: a Go program of its
 * own then keeps the files, and such a program has no view of files.
 */
#ifndef TIDE_LAUNCH_TRACKERS_H
#define TIDE_LAUNCH_TRACKERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TRACKERS_TEXT_BYTES = 1024 };

/* The variable of tracker number i, and the value that a run gives it. NULL: there are no more.
 * `ret_value` NULL: the variable stays as the environment has it. */
const char *tide_launch_tracker(size_t i, const char **ret_value);

/* "WANDB_MODE is disabled instead of online: ...": choices of this process's environment that a run
 * replaces. "": none. Returns `text`. */
char *tide_launch_trackers_replaced(char text[TIDE_TRACKERS_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
