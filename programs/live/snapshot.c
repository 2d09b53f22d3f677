/* snapshot.c - a snapshot of the running program, which another process writes from the log. */
#define _GNU_SOURCE /* environ */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text/setting.h"
#include "programs/live/box/helper.h"
#include "programs/live/real.h"
#include "programs/live/state_friend.h"

typedef int spawn_function(pid_t *child, const char *path,
                           const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[],
                           char *const environment[]);

/* The C library's own posix_spawn. The scratch view's would pass the view on to the child, and the
 * requested file would then be kept away. */
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
    static char *environment[TIDE_LIVE_MAX_ENTRIES]; /* of the last caller; all are the same */
    const char *program = tide_setting("TIDEMARK_PROGRAM");
    tide_live *live = tide_live_now();
    pid_t child = -1;
    int how = 0;
    if (live == NULL || program == NULL) {
        return -1;
    }
    /* posix_spawn requires writable texts, but does not change them. */
    const char *arguments[] = {program, "recover", "--quiet", tide_live_path(live),
                               "-o",    path,      NULL};
    char *words[sizeof(arguments) / sizeof(arguments[0])];
    memcpy(words, arguments, sizeof(words));
    tide_live_copy_environment(environment);
    if (find_spawn()(&child, program, NULL, NULL, words, environment) != 0) {
        return -1;
    }
    while (waitpid(child, &how, 0) < 0) {
        if (errno != EINTR) {
            return -1; /* the program waits for all its children, and reaped this one */
        }
    }
    return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? 0 : -1;
}
