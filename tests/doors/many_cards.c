/* many_cards.c - preloaded below the view: the C library of a machine that has all files whose
 * names begin with nvidia. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

char *realpath(const char *path, char *text) {
    char *(*next)(const char *, char *) = NULL;
    void *found = dlsym(RTLD_NEXT, "realpath");
    memcpy(&next, &found, sizeof(next));
    if (strncmp(path, "/dev/nvidia", strlen("/dev/nvidia")) == 0) {
        return text != NULL ? memcpy(text, path, strlen(path) + 1) : strdup(path);
    }
    return next(path, text);
}
