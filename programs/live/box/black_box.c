#define _GNU_SOURCE
#include "programs/live/box/black_box.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text/setting.h"
#include "programs/live/box/helper.h"

enum {
    PATH_BYTES = 4096,
    HOST_BYTES = 256,
    MOST_NAMES = 1000,
    NAMED_NS = 500000000,
    FOLDER_MODE = 0777
};

#define RING ".ring"

/* Global, as the recording is (state.c). */
static struct {
    char ring[PATH_BYTES]; /* "" if there is none */
    char link[PATH_BYTES]; /* to the ring, in the folder of snapshots; "" if the ring is there */
    pid_t process;         /* that the ring is of */
    _Atomic uint64_t n_failed;
} box;

static const char *setting(const char *name) {
    const char *value = tide_setting(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* A launcher's name for the process' rank; NULL. */
static const char *find_rank(void) {
    static const char *const NAMES[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        const char *value = getenv(NAMES[i]);
        if (value != NULL && value[0] != '\0' && strlen(value) < 10 &&
            strspn(value, "0123456789") == strlen(value)) {
            return value;
        }
    }
    return NULL;
}

/* System calls directly: these files are real, whatever the program's view of files. */
static bool is_free(const char *folder, const char *name, const char *ending) {
    char path[PATH_BYTES];
    return snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending) < PATH_BYTES &&
           syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0 && errno == ENOENT;
}

static bool are_free(const char *folder, const char *rings, const char *name) {
    return is_free(folder, name, RING) && is_free(folder, name, ".json.gz") &&
           is_free(folder, name, ".digest.json.gz") && is_free(rings, name, RING);
}

/* "node7-rank3-4711", and "-2" and so on after it for another process of that number. */
static void make_name(char *ret_name, size_t n_room, int attempt) {
    char host[HOST_BYTES] = "host";
    const char *rank = find_rank();
    char number[16] = "";
    (void)gethostname(host, sizeof(host) - 1);
    for (char *at = host; *at != '\0'; at++) {
        *at = *at == '/' || *at == '%' ? '_' : *at;
    }
    if (attempt > 1) {
        (void)snprintf(number, sizeof(number), "-%d", attempt);
    }
    (void)snprintf(ret_name, n_room, "%.*s%s%s-%ld%s", (int)strcspn(host, "."), host,
                   rank != NULL ? "-rank" : "", rank != NULL ? rank : "", (long)getpid(), number);
}

bool tide_black_box_name(char *ret_path, size_t n_room) {
    char name[PATH_BYTES];
    const char *folder = setting("TIDEMARK_BLACK_BOX");
    const char *rings = setting("TIDEMARK_BLACK_BOX_RING");
    if (folder == NULL || setting("TIDEMARK_LIVE") != NULL) {
        return false;
    }
    rings = rings != NULL ? rings : folder;
    (void)syscall(SYS_mkdirat, AT_FDCWD, folder, FOLDER_MODE); /* the log's own error follows */
    (void)syscall(SYS_mkdirat, AT_FDCWD, rings, FOLDER_MODE);
    for (int i = 1; i <= MOST_NAMES; i++) {
        make_name(name, sizeof(name), i);
        if (are_free(folder, rings, name)) {
            break;
        }
    }
    box.link[0] = '\0';
    if (strcmp(folder, rings) != 0 &&
        snprintf(box.link, sizeof(box.link), "%s/%s" RING, folder, name) >= PATH_BYTES) {
        return false;
    }
    return snprintf(ret_path, n_room, "%s/%s" RING, rings, name) < (int)n_room;
}

void tide_black_box_begin(const char *ring) {
    const char *program = setting("TIDEMARK_PROGRAM");
    atomic_store(&box.n_failed, 0);
    box.process = getpid();
    (void)snprintf(box.ring, sizeof(box.ring), "%s", ring);
    if (box.link[0] != '\0' && syscall(SYS_symlinkat, ring, AT_FDCWD, box.link) != 0) {
        box.link[0] = '\0'; /* the ring alone is found by its own path */
    }
    if (program != NULL) {
        /* execve requires writable texts, but does not change them. */
        const char *arguments[] = {
            program, "recover", "--quiet", "--watch", box.link[0] != '\0' ? box.link : box.ring,
            NULL};
        char *words[sizeof(arguments) / sizeof(arguments[0])];
        memcpy(words, arguments, sizeof(words));
        (void)tide_live_start_helper(words); /* without it, `tidemark ranks` recovers the ring */
    }
}

/* The number of failures is the ring's time of access, in seconds, with a fraction once
 * the tensors have their names: the other process is notified of the change, and nothing in the
 * program has to be open or to wait. Both times are set, because inotify reports a change of one of
 * them as an access. */
static void notify(uint64_t n_failed, long named_ns) {
    int saved = errno;
    const struct timespec times[] = {{.tv_sec = (time_t)n_failed, .tv_nsec = named_ns},
                                     {.tv_nsec = UTIME_NOW}};
    if (box.ring[0] != '\0' && n_failed > 0) {
        (void)syscall(SYS_utimensat, AT_FDCWD, box.ring, times, 0);
    }
    errno = saved;
}

void tide_black_box_failed(void) {
    if (box.ring[0] != '\0') {
        notify(atomic_fetch_add(&box.n_failed, 1) + 1, 0);
    }
}

void tide_black_box_named(void) {
    notify(atomic_load(&box.n_failed), NAMED_NS);
}

/* A ring with failures stays. Another program may have read it, so its number is written again. */
static void remove_ring(void) {
    uint64_t n_failed = atomic_load(&box.n_failed);
    if (n_failed > 0) {
        notify(n_failed, NAMED_NS);
    } else if (box.ring[0] != '\0') {
        if (box.link[0] != '\0') { /* first: a link without its ring looks like another machine's */
            (void)syscall(SYS_unlinkat, AT_FDCWD, box.link, 0);
        }
        (void)syscall(SYS_unlinkat, AT_FDCWD, box.ring, 0);
    }
}

void tide_black_box_end(void) {
    remove_ring();
    box.ring[0] = '\0';
}

/* Only system calls: a handler of a signal may be the caller, or a child made by vfork, which
 * shares this memory. */
void tide_black_box_leave(int status) {
    const int least = 0xff; /* the bits that the parent gets */
    if ((status & least) == 0 && box.process == getpid()) {
        remove_ring();
    }
}

void tide_black_box_forked(void) {
    box.ring[0] = '\0';
}
