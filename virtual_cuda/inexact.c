#include "virtual_cuda/inexact.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "virtual_cuda/fork.h"
#include "virtual_cuda/run_folder.h"

enum { MAX_NAMES = 256, LINE_BYTES = 1024 };

static const char *names[MAX_NAMES]; /* static texts of the callers */
static size_t n_names;

/* The child of a fork has a file of its own, and says what it meets. */
static void forget(void) {
    n_names = 0;
}

TIDE_VC_LOCK(lock, forget);

/* Whether the name is new. A program that meets more names than there is room for hears no more. */
static bool is_first(const char *call) {
    bool is_new = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_names && is_new; i++) {
        is_new = strcmp(names[i], call) != 0;
    }
    is_new = is_new && n_names < MAX_NAMES;
    if (is_new) {
        names[n_names++] = call;
    }
    pthread_mutex_unlock(&lock);
    return is_new;
}

/* Adds a line to this process' file in the run's folder, by one write: lines of threads do not mix.
 * False: there is no folder. */
static bool add_line(const char *kind, const char *call, const char *what) {
    char name[32];
    char line[LINE_BYTES];
    (void)snprintf(name, sizeof(name), "%ld.card", (long)getpid());
    int n = snprintf(line, sizeof(line), "%s\t%s\t%s\n", kind, call, what);
    if (n < 0 || (size_t)n >= sizeof(line)) {
        return false;
    }
    int file = tide_vc_run_open(name, O_WRONLY | O_CREAT | O_APPEND);
    if (file < 0) {
        return false;
    }
    bool is_written = write(file, line, (size_t)n) == n;
    (void)close(file);
    return is_written;
}

void tide_vc_inexact(const char *call, const char *what) {
    if (is_first(call) && !add_line("inexact", call, what)) {
        fprintf(stderr, "tidemark: not exact: %s: %s\n", call, what);
    }
}

void tide_vc_refused(const char *call, const char *why) {
    if (is_first(call)) {
        (void)add_line("refused", call, why);
        fprintf(stderr, "tidemark: not simulated: %s: %s\n", call, why);
    }
}
