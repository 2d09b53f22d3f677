/* interrupt.h - signals that end the process: nothing unfinished is left behind, and Ctrl-C can be
 * a request to come to an end.
 */
#ifndef TIDE_CLI_INTERRUPT_H
#define TIDE_CLI_INTERRUPT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the rest of the process: a signal that ends it (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE,
 * and those of the limits of time and file size) takes the files away that are not finished, and
 * then has its usual effect. One that is ignored, as under nohup, stays so. */
void tide_interrupt_clean_up(void);

/* From now on the first SIGINT, SIGTERM or SIGHUP (a connection that was lost) is only noted, so
 * that what was measured can still be written; the second one ends the process at once, as above.
 * `told` is written to stderr when the first one comes, and borrowed for ever; NULL: nothing. */
void tide_interrupt_begin(const char *told);

/* The signal that came; 0: none. */
int tide_interrupt_signal(void);

/* Whether one came, as a hook of a run (run/run.h); `ctx` is not used. */
bool tide_interrupt_shall_stop(void *ctx);

#ifdef __cplusplus
}
#endif

#endif
