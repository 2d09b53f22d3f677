/* entry_sockets.c - sockets with a path. A bound socket is among the copies, at a real path that
 * may be too long for an address. So the kernel gets a short one.
 */
#define _GNU_SOURCE /* struct sockaddr_un, AT_FDCWD */
#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/change.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/place.h"

/* Not from sys/socket.h: its addresses are unions that ISO C does not have. */
struct sockaddr;
typedef unsigned socklen_t;
int bind(int fd, const struct sockaddr *address, socklen_t n_bytes);
int connect(int fd, const struct sockaddr *address, socklen_t n_bytes);
ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *address,
               socklen_t n_bytes);
ssize_t recvfrom(int fd, void *bytes, size_t n, int flags, struct sockaddr *address,
                 socklen_t *n_bytes);
struct msghdr {
    void *name; /* a struct sockaddr, or NULL */
    socklen_t n_name;
    void *parts;
    size_t n_parts;
    void *control;
    size_t n_control;
    int flags;
};
ssize_t sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t recvmsg(int fd, struct msghdr *message, int flags);
int getsockname(int fd, struct sockaddr *address, socklen_t *n_bytes);
int getpeername(int fd, struct sockaddr *address, socklen_t *n_bytes);

enum {
    FAMILY_UNIX = 1, /* AF_UNIX */
    PATH_AT = offsetof(struct sockaddr_un, sun_path),
    MAX_PATH = sizeof(((struct sockaddr_un *)0)->sun_path) - 1
};

/* The path of an address, NUL-terminated. False: it has none, like most addresses. */
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

/* Binds the socket to a short name in FOLDER/tmp, and then moves it to its place. A link under the
 * short name holds the real name. */
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

/* The address of the view's real socket, for one call. */
typedef struct seen {
    struct sockaddr_un made;
    const struct sockaddr *address; /* the program's own, or `made` */
    socklen_t n_bytes;
    char link[TIDE_SCRATCH_PATH_BYTES]; /* made for a path that is too long; "" if not needed */
} seen;

/* 0 or -errno. After success, release it. */
static int see_address(seen *s, const struct sockaddr *address, socklen_t n_bytes) {
    char path[MAX_PATH + 2];
    tide_scratch_place place;
    s->address = address;
    s->n_bytes = n_bytes;
    s->link[0] = '\0';
    if (!tide_scratch_has_written() || !path_in(address, n_bytes, path)) {
        return 0;
    }
    int at = AT_FDCWD;
    const char *to = path;
    int result = tide_scratch_see(&at, &to, TIDE_SCRATCH_FOLLOW, &place);
    if (result != 0 || to == path) {
        return result;
    }
    if (strlen(to) > MAX_PATH) {
        tide_scratch_temporary_name(s->link);
        result = tide_sys_symlink(to, s->link);
        to = s->link;
    }
    result = result == 0 ? put_path(to, &s->made, &s->n_bytes) : result;
    s->address = (const struct sockaddr *)(const void *)&s->made;
    return result;
}

static void release_address(const seen *s) {
    if (s->link[0] != '\0') {
        int reason = errno;
        (void)tide_sys_unlink(s->link);
        errno = reason;
    }
}

TIDE_SCRATCH_EXPORT int connect(int fd, const struct sockaddr *address, socklen_t n_bytes) {
    static int (*next)(int, const struct sockaddr *, socklen_t);
    TIDE_SCRATCH_NEXT(next, "connect");
    seen to;
    int result = see_address(&to, address, n_bytes);
    result = result == 0 ? next(fd, to.address, to.n_bytes) : (int)tide_scratch_answer(result);
    release_address(&to);
    return result;
}

TIDE_SCRATCH_EXPORT ssize_t sendto(int fd, const void *bytes, size_t n, int flags,
                                   const struct sockaddr *address, socklen_t n_bytes) {
    static ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    TIDE_SCRATCH_NEXT(next, "sendto");
    if (address == NULL) {
        return next(fd, bytes, n, flags, address, n_bytes);
    }
    seen to;
    long result = see_address(&to, address, n_bytes);
    result = result == 0 ? next(fd, bytes, n, flags, to.address, to.n_bytes)
                         : tide_scratch_answer(result);
    release_address(&to);
    return result;
}

TIDE_SCRATCH_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    static ssize_t (*next)(int, const struct msghdr *, int);
    TIDE_SCRATCH_NEXT(next, "sendmsg");
    if (message == NULL || message->name == NULL) {
        return next(fd, message, flags);
    }
    seen to;
    struct msghdr other = *message;
    long result = see_address(&to, message->name, message->n_name);
    if (result == 0 && to.address != message->name) {
        other.name = &to.made;
        other.n_name = to.n_bytes;
    }
    result = result == 0 ? next(fd, &other, flags) : tide_scratch_answer(result);
    release_address(&to);
    return result;
}

/* Replaces the kernel's name in FOLDER/tmp by the path of the view. */
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

TIDE_SCRATCH_EXPORT ssize_t recvfrom(int fd, void *bytes, size_t n, int flags,
                                     struct sockaddr *address, socklen_t *n_bytes) {
    static ssize_t (*next)(int, void *, size_t, int, struct sockaddr *, socklen_t *);
    TIDE_SCRATCH_NEXT(next, "recvfrom");
    socklen_t n_room = address != NULL && n_bytes != NULL ? *n_bytes : 0;
    ssize_t result = next(fd, bytes, n, flags, address, n_bytes);
    if (result >= 0 && n_room > 0) {
        strip_address(address, n_bytes, n_room);
    }
    return result;
}

TIDE_SCRATCH_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    static ssize_t (*next)(int, struct msghdr *, int);
    TIDE_SCRATCH_NEXT(next, "recvmsg");
    socklen_t n_room = message != NULL && message->name != NULL ? message->n_name : 0;
    ssize_t result = next(fd, message, flags);
    if (result >= 0 && n_room > 0) {
        strip_address(message->name, &message->n_name, n_room);
    }
    return result;
}
