/* interrupt.h - signals that end the process: no unfinished file remains, and Ctrl-C can be a
 * request to finish early.
 */
#ifndef TIDE_CLI_INTERRUPT_H
#define TIDE_CLI_INTERRUPT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on a signal that ends the process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, and those
 * of the limits of time and file size) first removes unfinished files, and then has its usual
 * effect. A signal that is ignored, as under nohup, stays ignored. */
void tide_interrupt_clean_up(void);

/* From now on the first SIGINT, SIGTERM or SIGHUP (a lost connection) is only noted, so the program
 * can still write its measurements. The second one ends the process immediately, as above.
 * `message` is written to stderr on the first signal and borrowed forever; NULL: nothing is
 * written. */
void tide_interrupt_begin(const char *message);

/* The signal that was caught; 0: none. */
int tide_interrupt_signal(void);

/* Whether a signal was caught, in the form of a hook of a run (programs/runs/run.h). `ctx` is not
 * used. */
bool tide_interrupt_shall_stop(void *ctx);

#ifdef __cplusplus
}
#endif

#endif
