/* probe.c - checks, before the user's program starts, that the preloaded libraries will be loaded.
 *
 * The dynamic linker ignores a library that it cannot load: it prints a line and starts the program
 * without it. So the program's own linker lists the libraries that it would load, which runs
 * nothing. Then one of our processes makes the view of files, in a separate folder. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "programs/launch/ask.h"
#include "programs/launch/launch_internal.h"

enum { WAIT_MS = 60000, ANSWER_BYTES = 1 << 16, LINKER_BYTES = 512 };

/* Reads all output of a program. TIDE_IO: it cannot be started. */
static tide_status ask(char *const *arguments, char *const *environment, char answer[ANSWER_BYTES],
                       tide_error *error) {
    const tide_ask asked = {.arguments = arguments,
                            .environment = environment,
                            .reads_errors = true,
                            .wait_ms = WAIT_MS};
    int failed = tide_ask_program(&asked, answer, ANSWER_BYTES);
    return failed == 0 ? TIDE_OK
                       : tide_fail(error, TIDE_IO, "%s cannot be started: %s", arguments[0],
                                   strerror(failed));
}

/* The value of NAME, whose equals sign is part of `name`; "" if it is not set. */
static const char *value_of(char *const *environment, const char *name) {
    size_t n = strlen(name);
    for (char *const *entry = environment; *entry != NULL; entry++) {
        if (strncmp(*entry, name, n) == 0) {
            return *entry + n;
        }
    }
    return "";
}

/* The first line that contains the words, without the dynamic linker's prefix and ending. */
static void take_line(const char *answer, const char *words, char *ret_line, size_t n_room) {
    static const char PREFIX[] = "ERROR: ld.so: ";
    static const char ENDING[] = ": ignored.";
    const char *at = strstr(answer, words);
    ret_line[0] = '\0';
    if (at == NULL) {
        return;
    }
    while (at > answer && at[-1] != '\n') {
        at--;
    }
    at += strncmp(at, PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0;
    size_t n = strcspn(at, "\n");
    size_t n_end = strlen(ENDING);
    n -= n > n_end && strncmp(at + n - n_end, ENDING, n_end) == 0 ? n_end : 0;
    snprintf(ret_line, n_room, "%.*s", (int)n, at);
}

/* Whether the program's dynamic linker loads each library that the environment names. */
static tide_status check_linker(const char *program, char *const *environment, char *answer,
                                tide_error *error) {
    static const char *const NAMES[] = {"libtidemark_live.so", "libtidemark_virtual_cuda.so",
                                        "libtidemark_scratch.so"};
    char linker[LINKER_BYTES];
    char path[TIDE_LAUNCH_PATH_BYTES];
    char line[1024];
    char option[] = "--list";
    char *const arguments[] = {linker, option, path, NULL};
    if (!tide_launch_read_linker(program, linker, sizeof(linker)) || access(linker, X_OK) != 0) {
        return TIDE_OK; /* it cannot be checked */
    }
    snprintf(path, sizeof(path), "%s", program);
    TIDE_TRY(ask(arguments, environment, answer, error));
    /* A linker without --list prints something else. */
    bool has_listed = strstr(answer, "libc.so") != NULL;
    const char *preloaded = value_of(environment, "LD_PRELOAD=");
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        take_line(answer, NAMES[i], line, sizeof(line));
        bool is_refused = strstr(line, "cannot be") != NULL || strstr(line, "not found") != NULL;
        bool is_missing = has_listed && line[0] == '\0';
        if (strstr(preloaded, NAMES[i]) != NULL && (is_refused || is_missing)) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "%s was not started, because %s cannot be loaded into it, and without "
                             "this library its writes would reach real files%s%s; install tidemark "
                             "again, in a folder that the program can read",
                             program, NAMES[i], is_refused ? ": " : "", line);
        }
    }
    return TIDE_OK;
}

/* A copy of the environment with the probe's folder instead of the run's. The caller releases the
 * array; changed texts are in `room`, and all others belong to the environment. NULL: no memory. */
static char **probe_environment(char *const *environment, const char *folder, char *room) {
    static const char *const NAMES[] = {
        "TIDEMARK_SCRATCH=", "TIDEMARK_RUN_FOLDER=", "TIDEMARK_LIVE="};
    static const char *const ENDINGS[] = {"/view", "", "/%p.log"};
    size_t n = 0;
    for (; environment[n] != NULL; n++) {
    }
    const tide_hostmem *mem = tide_hostmem_default();
    char **made = tide_hostmem_zeroed(mem, n + 1, sizeof(*made));
    for (size_t i = 0; made != NULL && i < n; i++) {
        made[i] = environment[i];
        for (size_t k = 0; k < sizeof(NAMES) / sizeof(NAMES[0]); k++) {
            char *text = room + k * 2 * TIDE_LAUNCH_PATH_BYTES;
            if (strncmp(environment[i], NAMES[k], strlen(NAMES[k])) == 0) {
                snprintf(text, (size_t)2 * TIDE_LAUNCH_PATH_BYTES, "%s%s%s", NAMES[k], folder,
                         ENDINGS[k]);
                made[i] = text;
            }
        }
    }
    return made;
}

/* Whether a process with this environment has the view of files: then it creates the view's
 * state. */
static tide_status check_view(const tide_launch *launch, char *const *environment, char *answer,
                              tide_error *error) {
    char room[3 * 2 * TIDE_LAUNCH_PATH_BYTES];
    char folder[TIDE_LAUNCH_PATH_BYTES + 16];
    char state[TIDE_LAUNCH_PATH_BYTES + 32];
    char program[TIDE_LAUNCH_PATH_BYTES];
    char line[1024];
    char option[] = "--version";
    char *const arguments[] = {program, option, NULL};
    snprintf(program, sizeof(program), "%s", launch->program);
    snprintf(folder, sizeof(folder), "%s/probe", launch->folder);
    if (mkdir(folder, S_IRWXU) != 0) {
        return tide_fail(error, TIDE_IO, "%s cannot be made: %s", folder, strerror(errno));
    }
    char **whole = probe_environment(environment, folder, room);
    if (whole == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = ask(arguments, whole, answer, error);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, whole);
    TIDE_TRY(status);
    snprintf(state, sizeof(state), "%s/view/state", folder);
    if (access(state, F_OK) == 0) {
        return TIDE_OK;
    }
    take_line(answer, "tidemark: ", line, sizeof(line));
    return tide_fail(error, TIDE_UNSUPPORTED,
                     "the program was not started, because a trial process was not kept from "
                     "writing%s%s; the libraries are in %s; --writes allow runs the program with "
                     "real writes",
                     line[0] != '\0' ? ": " : "", line, launch->objects);
}

tide_status tide_launch_prove(const tide_launch *launch, const tide_launch_config *config,
                              const char *program, char *const *environment, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    char *answer = tide_hostmem_zeroed(mem, ANSWER_BYTES, 1);
    if (answer == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = check_linker(program, environment, answer, error);
    if (status == TIDE_OK && !config->writes_are_real) {
        status = check_view(launch, environment, answer, error);
    }
    mem->release(mem->ctx, answer);
    return status;
}
