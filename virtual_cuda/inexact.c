#include "virtual_cuda/inexact.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 256 };

static const char *names[MAX_NAMES]; /* static texts of the callers */
static size_t n_names;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

void tide_vc_inexact(const char *call, const char *what) {
    if (is_first(call)) {
        fprintf(stderr, "tidemark: not exact: %s: %s\n", call, what);
    }
}

void tide_vc_refused(const char *call, const char *why) {
    if (is_first(call)) {
        fprintf(stderr, "tidemark: not simulated: %s: %s\n", call, why);
    }
}
