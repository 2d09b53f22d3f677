/* dumper_files.c - names of the snapshots that a dumper writes, and of signals. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "capture/dumper_internal.h"

#define EXTENSION ".json.gz"

/* ---- files ---- */

/* Length of the path without its extension. */
static int stem_length(const char *path) {
    size_t n = strlen(path);
    size_t n_extension = strlen(EXTENSION);
    bool has = n > n_extension && strcmp(path + n - n_extension, EXTENSION) == 0;
    return (int)(has ? n - n_extension : n);
}

tide_status tide_dump_path(const char *path, const char *label, bool is_numbered,
                           char ret_path[TIDE_DUMP_PATH_BYTES], tide_error *error) {
    int stem = stem_length(path);
    for (unsigned long i = 1;; i++) {
        char number[24] = "";
        if (is_numbered || i > 1) {
            (void)snprintf(number, sizeof(number), "-%lu", i);
        }
        char name[TIDE_DUMP_PATH_BYTES];
        int n = snprintf(name, sizeof(name), "%.*s.%s%s%s", stem, path, label, number, EXTENSION);
        if (n < 0 || n >= TIDE_DUMP_PATH_BYTES) {
            return tide_fail(error, TIDE_INVALID,
                             "the name of a snapshot beside %.64s... would be "
                             "longer than %d bytes",
                             path, TIDE_DUMP_PATH_BYTES - 1);
        }
        if (access(name, F_OK) != 0) {
            memcpy(ret_path, name, (size_t)n + 1);
            return TIDE_OK;
        }
    }
}

/* ---- signals ---- */

/* Signals without a meaning to the system, which a program may choose freely. */
static const struct {
    const char *label;
    int number;
} SIGNALS[] = {
    {"usr1", SIGUSR1}, {"usr2", SIGUSR2}, {"hup", SIGHUP},   {"quit", SIGQUIT},
    {"alrm", SIGALRM}, {"urg", SIGURG},   {"cont", SIGCONT},
};

enum { N_SIGNALS = sizeof(SIGNALS) / sizeof(SIGNALS[0]) };

const char *tide_signal_label(int number) {
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (SIGNALS[i].number == number) {
            return SIGNALS[i].label;
        }
    }
    return NULL;
}

bool tide_signal_is_usable(int number) {
    return tide_signal_label(number) != NULL || (number >= SIGRTMIN && number <= SIGRTMAX);
}

tide_status tide_signal_parse(const char *text, int *ret_number, tide_error *error) {
    int number = 0;
    if (isdigit((unsigned char)text[0])) {
        char *end = NULL;
        long value = strtol(text, &end, 10);
        number = *end == '\0' && value > 0 && value <= SIGRTMAX ? (int)value : 0;
    } else {
        const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
        for (size_t i = 0; i < N_SIGNALS; i++) {
            number = strcasecmp(SIGNALS[i].label, name) == 0 ? SIGNALS[i].number : number;
        }
    }
    if (!tide_signal_is_usable(number)) {
        return tide_fail(error, TIDE_INVALID,
                         "no snapshot can be taken on the signal '%.32s' (valid: USR1, USR2, HUP, "
                         "QUIT, ALRM, URG, CONT and the numbers from %d to %d)",
                         text, SIGRTMIN, SIGRTMAX);
    }
    *ret_number = number;
    return TIDE_OK;
}
