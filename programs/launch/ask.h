/* ask.h - starts a program only to read what it prints. */
#ifndef TIDE_LAUNCH_ASK_H
#define TIDE_LAUNCH_ASK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_ask {
    char *const *arguments;   /* borrowed; the first is looked for in PATH unless it has a slash */
    char *const *environment; /* borrowed */
    bool reads_errors;        /* standard error is part of the answer; else it is dropped */
    int wait_ms;              /* the longest pause of the program before it is ended */
} tide_ask;

/* Puts the first n_room - 1 bytes that the program prints into the answer, with a NUL at the end.
 * The program ends with its output: what it does after closing it, or after wait_ms, is cut off by
 * SIGKILL. Returns 0, or the error number for which the program cannot be started. */
int tide_ask_program(const tide_ask *ask, char *ret_answer, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
