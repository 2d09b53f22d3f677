#include "common/text/setting.h"

#include <stdlib.h>
#include <string.h>

#define OURS "TIDEMARK_"

enum { MAX_KEPT = 32 };

/* Entries of the environment that the system gave the process: they are at the bottom of its stack
 * and remain there when the program removes them. */
static const char *kept[MAX_KEPT];
static size_t n_kept;

/* The dynamic linker passes these arguments to the constructors of a library. */
__attribute__((constructor)) static void keep(int argc, char **argv, char **environment) {
    (void)argc;
    (void)argv;
    for (size_t i = 0; environment != NULL && environment[i] != NULL && n_kept < MAX_KEPT; i++) {
        if (strncmp(environment[i], OURS, strlen(OURS)) == 0) {
            kept[n_kept++] = environment[i];
        }
    }
}

const char *tide_setting(const char *name) {
    const char *value = getenv(name);
    size_t n = strlen(name);
    for (size_t i = 0; value == NULL && i < n_kept; i++) {
        if (strncmp(kept[i], name, n) == 0 && kept[i][n] == '=') {
            value = kept[i] + n + 1;
        }
    }
    return value;
}
