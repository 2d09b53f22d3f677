/* interrupt.h - Ctrl-C as a request to come to an end: the first SIGINT or SIGTERM is noted, so
 * that what was measured can still be written; the second one ends the process at once.
 */
#ifndef TIDE_CLI_INTERRUPT_H
#define TIDE_CLI_INTERRUPT_H

#ifdef __cplusplus
extern "C" {
#endif

/* From now on for the rest of the process. A signal that is ignored, as under nohup, stays so.
 * `told` is written to stderr when the first one comes, and borrowed for ever; NULL: nothing. */
void tide_interrupt_begin(const char *told);

/* The signal that came; 0: none. */
int tide_interrupt_signal(void);

#ifdef __cplusplus
}
#endif

#endif
