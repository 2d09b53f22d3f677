/* ask.h - starts a program only to read its output. */
#ifndef TIDE_LAUNCH_ASK_H
#define TIDE_LAUNCH_ASK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_ask {
    char *const *arguments;   /* borrowed; the first is searched in PATH unless it has a slash */
    char *const *environment; /* borrowed */
    bool reads_errors;        /* standard error is part of the answer; otherwise it is dropped */
    int wait_ms;              /* the longest pause in the output before the program is killed */
} tide_ask;

/* Puts the first n_room - 1 bytes that the program prints into the answer, with a NUL at the end.
 * The program is ended with SIGKILL when it closes its output or pauses for wait_ms. Returns 0, or
 * the error number if the program cannot be started. */
int tide_ask_program(const tide_ask *ask, char *ret_answer, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
