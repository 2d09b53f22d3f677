/* snapshot.c - a snapshot of the running program, written by another process that reads the log. */
#define _GNU_SOURCE /* environ */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/setting.h"
#include "programs/live/real.h"
#include "programs/live/state_friend.h"

enum { MAX_ENTRIES = 4096 };

/* The program's environment without what preloads this library: the other process is none of the
 * program's. */
static void copy_environment(char *to[MAX_ENTRIES]) {
    size_t n = 0;
    for (size_t i = 0; environ[i] != NULL && n + 1 < MAX_ENTRIES; i++) {
        bool is_ours = strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0 ||
                       strncmp(environ[i], "TIDEMARK_LIVE", strlen("TIDEMARK_LIVE")) == 0;
        if (!is_ours) {
            to[n++] = environ[i];
        }
    }
    to[n] = NULL;
}

typedef int spawn_function(pid_t *child, const char *path,
                           const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[],
                           char *const environment[]);

/* The C library's own. What programs find may be that of the scratch view, which would hand the
 * view on: the file that was asked for would then be one of those that are kept away. */
static spawn_function *find_spawn(void) {
    spawn_function *spawn = posix_spawn;
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *found = libc != NULL ? tide_live_real_dlsym()(libc, "posix_spawn") : NULL;
    if (found != NULL) {
        memcpy(&spawn, &found, sizeof(spawn));
    }
    if (libc != NULL) {
        (void)dlclose(libc); /* it stays loaded */
    }
    return spawn;
}

int tide_live_snapshot(const char *path) {
    static char *environment[MAX_ENTRIES]; /* of the last one who asked; all are the same */
    const char *program = tide_setting("TIDEMARK_PROGRAM");
    tide_live *live = tide_live_now();
    pid_t child = -1;
    int how = 0;
    if (live == NULL || program == NULL) {
        return -1;
    }
    /* posix_spawn takes texts that it could change, and does not. */
    const char *arguments[] = {program, "recover", "--quiet", tide_live_path(live),
                               "-o",    path,      NULL};
    char *words[sizeof(arguments) / sizeof(arguments[0])];
    memcpy(words, arguments, sizeof(words));
    copy_environment(environment);
    if (find_spawn()(&child, program, NULL, NULL, words, environment) != 0) {
        return -1;
    }
    while (waitpid(child, &how, 0) < 0) {
        if (errno != EINTR) {
            return -1; /* the program waits for all its children, and got this one */
        }
    }
    return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? 0 : -1;
}
