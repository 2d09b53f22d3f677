#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "programs/virtual_cuda/process/inexact.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/run_folder.h"

enum { MAX_NAMES = 256, LINE_BYTES = 1024, PLACE_BYTES = 320, NO_BOUND = -1 };

/* What was reported; the lock guards it. */
static struct reported {
    const char *names[MAX_NAMES]; /* static texts of the callers */
    const char *kinds[MAX_NAMES]; /* of the same; NULL: the name alone counts */
    uint64_t bounds[MAX_NAMES];   /* the largest of each; 0: none */
    size_t n_names;
} reported;

/* The child of a fork gets its own file and reports everything again. */
static void forget(void) {
    reported.n_names = 0;
}

TIDE_VC_LOCK(lock, forget);

/* What is new about a name, or about a kind of it. Once the table is full, further names are not
 * reported. */
typedef enum news { NOTHING, A_LARGER_BOUND, THE_NAME } news;

static bool is_noted(size_t i, const char *call, const char *kind) {
    return strcmp(reported.names[i], call) == 0 &&
           (kind == NULL || (reported.kinds[i] != NULL && strcmp(reported.kinds[i], kind) == 0));
}

static news note(const char *call, const char *kind, uint64_t bound_bytes) {
    news is = NOTHING;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < reported.n_names && !is_noted(i, call, kind)) {
        i++;
    }
    if (i == reported.n_names && i < MAX_NAMES) {
        is = THE_NAME;
        reported.names[i] = call;
        reported.kinds[i] = kind;
        reported.bounds[i] = bound_bytes;
        reported.n_names++;
    } else if (i < reported.n_names && bound_bytes > reported.bounds[i]) {
        is = A_LARGER_BOUND;
        reported.bounds[i] = bound_bytes;
    }
    pthread_mutex_unlock(&lock);
    return is;
}

/* The current line of the program in the calling thread, from the library that records it
 * (programs/live/exports.h); "": unknown. */
static void find_place(char ret[PLACE_BYTES]) {
    int (*place)(char *ret_text, size_t n_text) = NULL;
    void *function = dlsym(RTLD_DEFAULT, "tidemark_live_place");
    memcpy(&place, &function, sizeof(place));
    if (place == NULL || place(ret, PLACE_BYTES) == 0) {
        ret[0] = '\0';
    }
    for (char *at = ret; *at != '\0'; at++) { /* the file has lines with tabs */
        *at = (unsigned char)*at < ' ' ? '?' : *at;
    }
}

/* Adds a line to this process' file in the run's folder with one write, so lines of different
 * threads do not mix. `more`: further fields, each after a tab. False if there is no folder. */
static bool write_line(const char *kind, const char *call, const char *what, const char *more) {
    char name[32];
    char line[LINE_BYTES];
    (void)snprintf(name, sizeof(name), "%ld.card", (long)getpid());
    int n = snprintf(line, sizeof(line), "%s\t%s\t%s%s\n", kind, call, what, more);
    if (n < 0 || (size_t)n >= sizeof(line)) {
        return false;
    }
    bool is_allowed = tide_vc_may_reach((uint64_t)MAX_NAMES * LINE_BYTES);
    int file = is_allowed ? tide_vc_run_open(name, O_WRONLY | O_CREAT | O_APPEND) : -1;
    if (file < 0) {
        return false;
    }
    bool is_written = write(file, line, (size_t)n) == n;
    (void)close(file);
    return is_written;
}

static bool add_line(const char *kind, const char *call, const char *what, int64_t bound_bytes) {
    char place[PLACE_BYTES];
    char more[PLACE_BYTES + 32] = "";
    if (!tide_vc_has_run_folder()) {
        return false;
    }
    find_place(place);
    if (bound_bytes >= 0 || place[0] != '\0') {
        (void)snprintf(more, sizeof(more), "\t%" PRId64 "%s%s", bound_bytes,
                       place[0] != '\0' ? "\t" : "", place);
    }
    return write_line(kind, call, what, more);
}

void tide_vc_inexact(const char *call, const char *what) {
    if (note(call, NULL, 0) == THE_NAME && !add_line("inexact", call, what, NO_BOUND)) {
        fprintf(stderr, "tidemark: not exact: %s: %s\n", call, what);
    }
}

/* The file gets another line for each larger bound of a name; stderr gets only the first. */
static void say_bytes(news is, const char *call, const char *what, uint64_t bound_bytes) {
    if (is == NOTHING) {
        return;
    }
    if (!add_line("inexact", call, what, (int64_t)bound_bytes) && is == THE_NAME) {
        fprintf(stderr, "tidemark: not exact: %s: %s; up to %" PRIu64 " bytes more\n", call, what,
                bound_bytes);
    }
}

void tide_vc_inexact_bytes(const char *call, const char *what, uint64_t bound_bytes) {
    say_bytes(note(call, NULL, bound_bytes), call, what, bound_bytes);
}

void tide_vc_inexact_kind(const char *call, const char *what, uint64_t bound_bytes) {
    say_bytes(note(call, what, bound_bytes), call, what, bound_bytes);
}

void tide_vc_refused(const char *call, const char *why) {
    if (note(call, NULL, 0) == THE_NAME) {
        (void)add_line("refused", call, why, NO_BOUND);
        fprintf(stderr, "tidemark: not simulated: %s: %s\n", call, why);
    }
}

void tide_vc_host_refused(const char *what, const char *why) {
    if (note(what, NULL, 0) == THE_NAME) {
        (void)add_line("host", what, why, NO_BOUND);
        fprintf(stderr, "tidemark: the host failed, not the card, at %s: %s\n", what, why);
    }
}

void tide_vc_linked_runtime(const char *version, const char *path) {
    (void)write_line("linked", version, path, "");
}

void tide_vc_say(const char *text) {
    fprintf(stderr, "tidemark: %s\n", text);
}
