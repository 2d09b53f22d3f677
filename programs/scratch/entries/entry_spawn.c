/* entry_spawn.c - posix_spawn, system and popen. The C library opens files and starts programs in
 * them without calling us, so all paths are resolved before.
 */
#define _GNU_SOURCE /* posix_spawn_file_actions_addchdir_np */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/opening.h"
#include "programs/scratch/place.h"
#include "programs/scratch/programs.h"
#include "programs/scratch/unseen.h"

typedef int (*spawner)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);

TIDE_SCRATCH_EXPORT int posix_spawn(pid_t *ret_pid, const char *path,
                                    const posix_spawn_file_actions_t *actions,
                                    const posix_spawnattr_t *attributes, char *const arguments[],
                                    char *const environment[]) {
    static spawner next;
    TIDE_SCRATCH_NEXT(next, "posix_spawn");
    tide_scratch_place place;
    int at = AT_FDCWD;
    int result = tide_scratch_see(&at, &path, TIDE_SCRATCH_FOLLOW, &place);
    char **whole = tide_scratch_environment(environment);
    if (result != 0 || whole == NULL) {
        return result != 0 ? -result : ENOMEM;
    }
    tide_scratch_note_program(path, arguments);
    return next(ret_pid, path, actions, attributes, arguments, whole);
}

/* The first program of this name on PATH. */
static bool find(const char *name, char path[TIDE_SCRATCH_PATH_BYTES]) {
    const char *folders = getenv("PATH");
    for (const char *folder = folders; folder != NULL;) {
        size_t n = strcspn(folder, ":");
        if (n > 0 && n + 1 + strlen(name) < TIDE_SCRATCH_PATH_BYTES) {
            memcpy(path, folder, n);
            path[n] = '/';
            (void)stpcpy(path + n + 1, name);
            if (access(path, X_OK) == 0) {
                return true;
            }
        }
        folder = folder[n] == ':' ? folder + n + 1 : NULL;
    }
    return false;
}

TIDE_SCRATCH_EXPORT int posix_spawnp(pid_t *ret_pid, const char *name,
                                     const posix_spawn_file_actions_t *actions,
                                     const posix_spawnattr_t *attributes, char *const arguments[],
                                     char *const environment[]) {
    static spawner next;
    TIDE_SCRATCH_NEXT(next, "posix_spawnp");
    char path[TIDE_SCRATCH_PATH_BYTES];
    if (strchr(name, '/') == NULL && find(name, path)) {
        int result = posix_spawn(ret_pid, path, actions, attributes, arguments, environment);
        if (result != ENOEXEC) {
            return result;
        }
        name = path;
    }
    char **whole = tide_scratch_environment(environment);
    return whole == NULL ? ENOMEM : next(ret_pid, name, actions, attributes, arguments, whole);
}

TIDE_SCRATCH_EXPORT int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions,
                                                         int fd, const char *path, int flags,
                                                         mode_t mode) {
    static int (*next)(posix_spawn_file_actions_t *, int, const char *, int, mode_t);
    TIDE_SCRATCH_NEXT(next, "posix_spawn_file_actions_addopen");
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
    tide_scratch_place place;
    int at = AT_FDCWD;
    if (writes) {
        /* Opened here once, to create the copy that the child opens. */
        int opened = tide_scratch_open(AT_FDCWD, path, flags | O_CLOEXEC | O_NONBLOCK, mode);
        if (opened < 0) {
            return -opened;
        }
        (void)tide_sys_close(opened);
        flags &= ~O_EXCL;
    }
    int result = tide_scratch_see(&at, &path, TIDE_SCRATCH_FOLLOW, &place);
    return result == 0 ? next(actions, fd, path, flags, mode) : -result;
}

TIDE_SCRATCH_EXPORT int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions,
                                                             const char *path) {
    static int (*next)(posix_spawn_file_actions_t *, const char *);
    TIDE_SCRATCH_NEXT(next, "posix_spawn_file_actions_addchdir_np");
    tide_scratch_place place;
    int at = AT_FDCWD;
    int result = tide_scratch_see(&at, &path, TIDE_SCRATCH_FOLLOW, &place);
    return result == 0 ? next(actions, path) : -result;
}

TIDE_SCRATCH_EXPORT int system(const char *command) {
    static int (*next)(const char *);
    TIDE_SCRATCH_NEXT(next, "system");
    tide_scratch_restore_environment();
    return next(command);
}

TIDE_SCRATCH_EXPORT FILE *popen(const char *command, const char *mode) {
    static FILE *(*next)(const char *, const char *);
    TIDE_SCRATCH_NEXT(next, "popen");
    tide_scratch_restore_environment();
    return next(command, mode);
}
