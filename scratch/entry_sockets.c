/* entry_sockets.c - sockets that have a path. One that a program binds lies among the copies, at a
 * real path that may be too long for an address. So the kernel is told of a short one.
 */
#define _GNU_SOURCE /* struct sockaddr_un, AT_FDCWD */
#include <fcntl.h>
#include <stddef.h>
#include <sys/un.h>

#include "scratch/answer.h"
#include "scratch/calls_internal.h"
#include "scratch/change.h"
#include "scratch/export.h"
#include "scratch/place.h"

/* Not from sys/socket.h: there, addresses are unions that ISO C does not know. */
struct sockaddr;
typedef unsigned socklen_t;
int bind(int fd, const struct sockaddr *address, socklen_t n_bytes);
int connect(int fd, const struct sockaddr *address, socklen_t n_bytes);
int getsockname(int fd, struct sockaddr *address, socklen_t *n_bytes);
int getpeername(int fd, struct sockaddr *address, socklen_t *n_bytes);

enum {
    FAMILY_UNIX = 1, /* AF_UNIX */
    PATH_AT = offsetof(struct sockaddr_un, sun_path),
    MAX_PATH = sizeof(((struct sockaddr_un *)0)->sun_path) - 1
};

/* The path of an address, NUL-terminated. False: it has none, as most have. */
static bool path_in(const struct sockaddr *address, socklen_t n_bytes, char path[MAX_PATH + 2]) {
    sa_family_t family = 0;
    if (address == NULL || n_bytes <= PATH_AT || n_bytes > sizeof(struct sockaddr_un)) {
        return false;
    }
    memcpy(&family, address, sizeof(family));
    if (family != FAMILY_UNIX) {
        return false;
    }
    size_t n = n_bytes - PATH_AT;
    memcpy(path, (const char *)address + PATH_AT, n);
    path[n] = '\0';
    return path[0] != '\0';
}

static int put_path(const char *path, struct sockaddr_un *ret_address, socklen_t *ret_bytes) {
    size_t n = strlen(path);
    if (n > MAX_PATH) {
        return -ENAMETOOLONG;
    }
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = FAMILY_UNIX;
    memcpy(ret_address->sun_path, path, n + 1);
    *ret_bytes = (socklen_t)(PATH_AT + n + 1);
    return 0;
}

static int bind_real(int fd, const void *address, socklen_t n_bytes) {
    return (int)tide_scratch_call(SYS_bind, fd, tide_scratch_word(address), (long)n_bytes, 0, 0);
}

/* The socket gets a short name in FOLDER/tmp, and is then moved to its place. A link under the
 * short name says what it is called. */
static int bind_copy(int fd, tide_scratch_place *place) {
    char made[TIDE_SCRATCH_PATH_BYTES];
    struct sockaddr_un address;
    socklen_t n_bytes = 0;
    tide_scratch_temporary_name(made);
    int result = put_path(made, &address, &n_bytes);
    result = result == 0 ? bind_real(fd, &address, n_bytes) : result;
    if (result != 0) {
        return result;
    }
    result = tide_scratch_put(made, place);
    if (result == 0) {
        result = tide_sys_symlink(place->path, made);
    } else {
        (void)tide_sys_unlink(made);
    }
    return result;
}

TIDE_SCRATCH_EXPORT int bind(int fd, const struct sockaddr *address, socklen_t n_bytes) {
    char path[MAX_PATH + 2];
    struct sockaddr_un real;
    tide_scratch_place place;
    if (tide_scratch_state_get()->mode == TIDE_SCRATCH_OFF || !path_in(address, n_bytes, path)) {
        return (int)tide_scratch_answer(bind_real(fd, address, n_bytes));
    }
    int result = tide_scratch_begin_new(AT_FDCWD, path, &place);
    if (result == TIDE_SCRATCH_UNTOUCHED) {
        result = put_path(tide_scratch_text(&place, path), &real, &n_bytes);
        return (int)tide_scratch_answer(result == 0 ? bind_real(fd, &real, n_bytes) : result);
    }
    if (result == 0) {
        result = bind_copy(fd, &place);
        tide_scratch_unlock();
    }
    return (int)tide_scratch_answer(result == -EEXIST ? -EADDRINUSE : result);
}

TIDE_SCRATCH_EXPORT int connect(int fd, const struct sockaddr *address, socklen_t n_bytes) {
    static int (*next)(int, const struct sockaddr *, socklen_t);
    TIDE_SCRATCH_NEXT(next, "connect");
    char path[MAX_PATH + 2];
    struct sockaddr_un made;
    tide_scratch_place place;
    if (!tide_scratch_has_written() || !path_in(address, n_bytes, path)) {
        return next(fd, address, n_bytes);
    }
    int at = AT_FDCWD;
    const char *seen = path;
    int result = tide_scratch_see(&at, &seen, TIDE_SCRATCH_FOLLOW, &place);
    if (result == 0 && seen == path) {
        return next(fd, address, n_bytes);
    }
    char link[TIDE_SCRATCH_PATH_BYTES] = "";
    if (result == 0 && strlen(seen) > MAX_PATH) { /* a short link to it, for this one call */
        tide_scratch_temporary_name(link);
        result = tide_sys_symlink(seen, link);
        seen = link;
    }
    result = result == 0 ? put_path(seen, &made, &n_bytes) : result;
    result = result == 0 ? next(fd, (const struct sockaddr *)(const void *)&made, n_bytes)
                         : (int)tide_scratch_answer(result);
    if (link[0] != '\0') {
        (void)tide_sys_unlink(link);
    }
    return result;
}

/* Turns the name in FOLDER/tmp that the kernel knows into the path of the view. */
static void strip_address(struct sockaddr *address, socklen_t *n_bytes, socklen_t n_room) {
    const tide_scratch_state *state = tide_scratch_state_get();
    char path[MAX_PATH + 2];
    char whole[MAX_PATH + 1];
    if (state->mode != TIDE_SCRATCH_ON || *n_bytes > n_room || !path_in(address, *n_bytes, path) ||
        strncmp(path, state->files, state->n_folder) != 0) {
        return;
    }
    long n = tide_sys_readlink(AT_FDCWD, path, whole, sizeof(whole));
    if (n > 0 && n <= MAX_PATH && (size_t)PATH_AT + (size_t)n + 1 <= n_room) {
        whole[n] = '\0';
        memcpy((char *)address + PATH_AT, whole, (size_t)n + 1);
        *n_bytes = (socklen_t)((size_t)PATH_AT + (size_t)n + 1);
    }
}

typedef int (*asker)(int, struct sockaddr *, socklen_t *);

static int ask(asker next, int fd, struct sockaddr *address, socklen_t *n_bytes) {
    socklen_t n_room = n_bytes != NULL ? *n_bytes : 0;
    int result = next(fd, address, n_bytes);
    if (result == 0 && address != NULL && n_bytes != NULL) {
        strip_address(address, n_bytes, n_room);
    }
    return result;
}

TIDE_SCRATCH_EXPORT int getsockname(int fd, struct sockaddr *address, socklen_t *n_bytes) {
    static asker next;
    TIDE_SCRATCH_NEXT(next, "getsockname");
    return ask(next, fd, address, n_bytes);
}

TIDE_SCRATCH_EXPORT int getpeername(int fd, struct sockaddr *address, socklen_t *n_bytes) {
    static asker next;
    TIDE_SCRATCH_NEXT(next, "getpeername");
    return ask(next, fd, address, n_bytes);
}
