/* entry_programs.c - exec and related functions: programs that only a copy holds can be started,
 * and every program sees the view.
 */
#define _GNU_SOURCE /* execvpe, execveat */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/place.h"
#include "programs/scratch/programs.h"
#include "programs/scratch/unseen.h"

extern char **environ;

static int run(int at, const char *path, char *const *arguments, char *const *environment,
               int flags) {
    tide_scratch_place place;
    bool by_descriptor = path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0;
    int result = by_descriptor
                     ? 0
                     : tide_scratch_see(&at, &path,
                                        (flags & AT_SYMLINK_NOFOLLOW) != 0 ? TIDE_SCRATCH_NOFOLLOW
                                                                           : TIDE_SCRATCH_FOLLOW,
                                        &place);
    char **whole = tide_scratch_environment(environment);
    if (result != 0 || whole == NULL) {
        return result != 0 ? result : -ENOMEM;
    }
    if (!by_descriptor && (at == AT_FDCWD || path[0] == '/')) {
        tide_scratch_note_program(path, arguments);
        return (int)tide_scratch_call(SYS_execve, tide_scratch_word(path),
                                      tide_scratch_word(arguments), tide_scratch_word(whole), 0, 0);
    }
    tide_scratch_note_descriptor(at, path, arguments);
    return (int)tide_scratch_call(SYS_execveat, at, tide_scratch_word(path),
                                  tide_scratch_word(arguments), tide_scratch_word(whole), flags);
}

TIDE_SCRATCH_EXPORT int execve(const char *path, char *const arguments[],
                               char *const environment[]) {
    return (int)tide_scratch_answer(run(AT_FDCWD, path, arguments, environment, 0));
}

TIDE_SCRATCH_EXPORT int execveat(int at, const char *path, char *const arguments[],
                                 char *const environment[], int flags) {
    return (int)tide_scratch_answer(run(at, path, arguments, environment, flags));
}

TIDE_SCRATCH_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[]) {
    return (int)tide_scratch_answer(run(fd, "", arguments, environment, AT_EMPTY_PATH));
}

TIDE_SCRATCH_EXPORT int execv(const char *path, char *const arguments[]) {
    return (int)tide_scratch_answer(run(AT_FDCWD, path, arguments, environ, 0));
}

/* A file that is not a program runs as a shell script. */
static int run_or_shell(const char *path, char *const *arguments, char *const *environment) {
    int result = run(AT_FDCWD, path, arguments, environment, 0);
    if (result != -ENOEXEC) {
        return result;
    }
    size_t n = 0;
    for (; arguments[n] != NULL; n++) {
    }
    const char **longer = malloc((n + 3) * sizeof(*longer));
    if (longer == NULL) {
        return -ENOMEM;
    }
    longer[0] = "/bin/sh";
    longer[1] = path;
    for (size_t i = 1; i <= n || i == 1; i++) {
        longer[i + 1] = i <= n ? arguments[i] : NULL;
    }
    char *const *passed = NULL;
    memcpy(&passed, &longer, sizeof(passed));
    result = run(AT_FDCWD, "/bin/sh", passed, environment, 0);
    free(longer);
    return result;
}

/* Tries the folders of PATH. `use` returns -ENOENT, -ENOTDIR or -EACCES to continue. */
static int search(const char *name, int (*use)(const char *path, void *context), void *context) {
    const char *folders = getenv("PATH");
    folders = folders != NULL ? folders : "/bin:/usr/bin";
    int result = -ENOENT;
    bool denied = false;
    for (const char *folder = folders; folder != NULL;) {
        char path[TIDE_SCRATCH_PATH_BYTES];
        size_t n = strcspn(folder, ":");
        if (n + 1 + strlen(name) < sizeof(path)) {
            memcpy(path, folder, n);
            (void)stpcpy(stpcpy(path + n, n > 0 ? "/" : ""), name);
            result = use(path, context);
            denied = denied || result == -EACCES;
            if (result != -ENOENT && result != -ENOTDIR && result != -EACCES) {
                return result;
            }
        }
        folder = folder[n] == ':' ? folder + n + 1 : NULL;
    }
    return denied ? -EACCES : result;
}

typedef struct program {
    char *const *arguments;
    char *const *environment;
} program;

static int run_found(const char *path, void *context) {
    const program *p = context;
    return run_or_shell(path, p->arguments, p->environment);
}

TIDE_SCRATCH_EXPORT int execvpe(const char *name, char *const arguments[],
                                char *const environment[]) {
    program p = {arguments, environment};
    return (int)tide_scratch_answer(name[0] == '\0'             ? -ENOENT
                                    : strchr(name, '/') != NULL ? run_found(name, &p)
                                                                : search(name, run_found, &p));
}

TIDE_SCRATCH_EXPORT int execvp(const char *name, char *const arguments[]) {
    return execvpe(name, arguments, environ);
}

/* The arguments that follow `first`, with the NULL at their end; allocated. */
static const char **gather(const char *first, va_list *arguments) {
    va_list counted;
    size_t n = 1;
    va_copy(counted, *arguments);
    while (first != NULL && va_arg(counted, const char *) != NULL) {
        n++;
    }
    va_end(counted);
    const char **list = malloc((n + 1) * sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    list[0] = first;
    for (size_t i = 1; i <= n && first != NULL; i++) {
        list[i] = va_arg(*arguments, const char *);
    }
    return list;
}

typedef enum way { WAY_PATH = 0, WAY_SEARCH, WAY_ENVIRONMENT } way;

static int run_list(const char *name, const char *first, va_list *arguments, way how) {
    const char **list = gather(first, arguments);
    if (list == NULL) {
        errno = ENOMEM;
        return -1;
    }
    char *const *passed = NULL;
    memcpy(&passed, &list, sizeof(passed));
    if (how == WAY_SEARCH) {
        (void)execvpe(name, passed, environ);
    } else {
        (void)execve(name, passed, how == WAY_PATH ? environ : va_arg(*arguments, char *const *));
    }
    int reason = errno;
    free(list);
    errno = reason;
    return -1;
}

TIDE_SCRATCH_EXPORT int execl(const char *path, const char *first, ...) {
    va_list arguments;
    va_start(arguments, first);
    int result = run_list(path, first, &arguments, WAY_PATH);
    va_end(arguments);
    return result;
}

TIDE_SCRATCH_EXPORT int execlp(const char *name, const char *first, ...) {
    va_list arguments;
    va_start(arguments, first);
    int result = run_list(name, first, &arguments, WAY_SEARCH);
    va_end(arguments);
    return result;
}

TIDE_SCRATCH_EXPORT int execle(const char *path, const char *first, ...) {
    va_list arguments;
    va_start(arguments, first);
    int result = run_list(path, first, &arguments, WAY_ENVIRONMENT);
    va_end(arguments);
    return result;
}
