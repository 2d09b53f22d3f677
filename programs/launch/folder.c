/* The folder of a run, and the process that removes it.
 *
 * This process can be killed at any instant. So a separate process, the cleaner, in its own
 * session, waits until the socket between them closes because this process is gone. It ends the
 * processes of the run, which it recognizes by the folder's name in their environment, and removes
 * the folder. */
#define _GNU_SOURCE /* nftw, closefrom, ST_NOEXEC */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/launch/launch_internal.h"

enum {
    MAX_OPEN = 16,
    ENVIRONMENT_BYTES = 1 << 20,
    ROUNDS = 50,
    QUIET_ROUNDS = 2,
    ROUND_US = 20000
};

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info;
    (void)kind;
    (void)at;
    (void)remove(path); /* no process is left to report to */
    return 0;
}

/* Whether the process was started with `marker`, a whole entry, in its environment. */
static bool has_marker(const char *pid, const char *marker, char *buffer) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n_used = 0;
    ssize_t n = 0;
    if (fd < 0) {
        return false; /* another user's process */
    }
    while (n_used < ENVIRONMENT_BYTES - 1 &&
           (n = read(fd, buffer + n_used, ENVIRONMENT_BYTES - 1 - n_used)) > 0) {
        n_used += (size_t)n;
    }
    (void)close(fd); /* was only read */
    buffer[n_used] = '\0';
    for (size_t i = 0; i < n_used; i += strlen(buffer + i) + 1) {
        if (strcmp(buffer + i, marker) == 0) {
            return true;
        }
    }
    return false;
}

/* Kills the processes of the run. Returns their number. */
static int kill_rest(const char *marker, char *buffer) {
    int n_killed = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry = all != NULL ? readdir(all) : NULL; entry != NULL;
         entry = readdir(all)) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != (long)getpid() && has_marker(entry->d_name, marker, buffer)) {
            n_killed += kill((pid_t)pid, SIGKILL) == 0;
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
    return n_killed;
}

/* The parent's message to the cleaner that there is no folder to remove. */
#define NOTHING_TO_REMOVE 'n'

/* The cleaner. It keeps no inherited file open, and receives no signal of the terminal. It reports
 * when a kill of the process group no longer reaches it: the folder is made after that. */
static void clean_up(const tide_launch *launch, int wait_fd) {
    static char buffer[ENVIRONMENT_BYTES];
    char marker[TIDE_LAUNCH_PATH_BYTES + sizeof("TIDEMARK_RUN_FOLDER=")];
    char byte = 0;
    ssize_t n_read = -1;
    (void)setsid();
    (void)send(wait_fd, &byte, 1, MSG_NOSIGNAL); /* if the parent is gone, the cleaner ends below */
    (void)chdir("/");
    for (int fd = 0; fd < 1024; fd++) {
        if (fd != wait_fd) {
            (void)close(fd);
        }
    }
    snprintf(marker, sizeof(marker), "TIDEMARK_RUN_FOLDER=%s", launch->folder);
    do {
        n_read = read(wait_fd, &byte, 1);
    } while (n_read < 0 && errno == EINTR);
    if (n_read == 1 && byte == NOTHING_TO_REMOVE) {
        _exit(0);
    }
    /* A process that is being killed may just have forked another, and a process during exec has no
     * environment yet. */
    int n_quiet = kill_rest(marker, buffer) == 0;
    for (int i = 1; i < ROUNDS && n_quiet < QUIET_ROUNDS; i++) {
        (void)usleep(ROUND_US);
        n_quiet = kill_rest(marker, buffer) > 0 ? 0 : n_quiet + 1;
    }
    (void)nftw(launch->folder, remove_entry, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
    if (launch->links[0] != '\0') {
        (void)nftw(launch->links, remove_entry, MAX_OPEN, FTW_DEPTH | FTW_PHYS);
    }
    _exit(0);
}

/* All signals are blocked in the cleaner from its first instruction on: it ends only by
 * returning. */
static tide_status start_cleaner(tide_launch *launch, tide_error *error) {
    int ends[2];
    char byte = 0;
    sigset_t all;
    sigset_t before;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return tide_fail(error, TIDE_IO, "no socket for the process that cleans up: %s",
                         strerror(errno));
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* both are open: it cannot fail */
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        clean_up(launch, ends[0]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[0]);
    if (pid < 0) {
        (void)close(ends[1]);
        return tide_fail(error, TIDE_IO, "no process that cleans up: %s", strerror(errno));
    }
    launch->cleaner = pid;
    launch->alive_fd = ends[1];
    while (read(launch->alive_fd, &byte, 1) < 0 && errno == EINTR) {
    }
    return TIDE_OK;
}

/* The names under which programs look for the driver and NVML link to the preloaded library: the
 * dynamic linker recognizes its inode and does not load it again. The program nvidia-smi is in the
 * same folder. */
static tide_status make_names(const tide_launch *launch, tide_error *error) {
    static const char OBJECT[] = "libtidemark_virtual_cuda.so";
    static const struct {
        const char *name, *target;
    } NAMES[] = {{"libcuda.so.1", OBJECT},
                 {"libcuda.so", OBJECT},
                 {"libnvidia-ml.so.1", OBJECT},
                 {"libnvidia-ml.so", OBJECT},
                 {TIDE_LAUNCH_SMI, TIDE_LAUNCH_SMI}};
    char target[2 * TIDE_LAUNCH_PATH_BYTES];
    char link[2 * TIDE_LAUNCH_PATH_BYTES];
    snprintf(link, sizeof(link), "%s/lib", launch->folder);
    bool ok = mkdir(link, S_IRWXU) == 0;
    for (size_t i = 0; ok && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        snprintf(target, sizeof(target), "%s/%s", launch->objects, NAMES[i].target);
        snprintf(link, sizeof(link), "%s/lib/%s", launch->folder, NAMES[i].name);
        ok = symlink(target, link) == 0;
    }
    return ok ? TIDE_OK
              : tide_fail(error, TIDE_IO, "%s: the folder of the run cannot be filled: %s",
                          launch->folder, strerror(errno));
}

/* Whether programs and libraries cannot be loaded from the folder. */
static bool is_noexec(const char *folder) {
    struct statvfs info;
    return statvfs(folder, &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
}

/* The user's choice, or else a place from which the program can load its compiled code. */
static const char *choose_parent(void) {
    const char *parent = getenv("TMPDIR");
    if (parent != NULL && parent[0] == '/') {
        return parent;
    }
    return is_noexec("/tmp") && !is_noexec("/var/tmp") && access("/var/tmp", W_OK | X_OK) == 0
               ? "/var/tmp"
               : "/tmp";
}

/* An unused name: 64 random bits. */
static bool choose_name(tide_launch *launch, const char *parent) {
    uint64_t number = 0;
    int n = getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number)
                ? snprintf(launch->folder, sizeof(launch->folder), "%s/tidemark-run-%016" PRIx64,
                           parent, number)
                : -1;
    return n > 0 && n < (int)sizeof(launch->folder);
}

static void dismiss_cleaner(tide_launch *launch) {
    const char byte = NOTHING_TO_REMOVE;
    (void)send(launch->alive_fd, &byte, 1, MSG_NOSIGNAL); /* fails only if the cleaner was killed */
    tide_launch_remove_folder(launch);
}

/* The cleaner starts before the folder is made, to survive a kill in between. */
tide_status tide_launch_make_folder(tide_launch *launch, bool has_card, tide_error *error) {
    const char *parent = choose_parent();
    launch->is_noexec = is_noexec(parent);
    if (!choose_name(launch, parent)) {
        launch->folder[0] = '\0';
        return tide_fail(error, TIDE_IO,
                         "no folder for the run has a name in %s; TMPDIR names another place",
                         parent);
    }
    tide_status status = tide_launch_choose_links(launch, has_card, error);
    if (status == TIDE_OK) {
        status = start_cleaner(launch, error);
    }
    if (status != TIDE_OK) {
        launch->folder[0] = '\0';
        return status;
    }
    if (mkdir(launch->folder, S_IRWXU) != 0) {
        status =
            tide_fail(error, TIDE_IO,
                      "no folder for the run can be made in %s: %s; TMPDIR names another place",
                      parent, strerror(errno));
        dismiss_cleaner(launch);
        return status;
    }
    TIDE_TRY(tide_launch_make_links(launch, error));
    return has_card ? make_names(launch, error) : TIDE_OK;
}

void tide_launch_remove_folder(tide_launch *launch) {
    if (launch->cleaner > 0) {
        (void)close(launch->alive_fd);
        while (waitpid((pid_t)launch->cleaner, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    launch->cleaner = -1;
    launch->folder[0] = '\0';
    launch->links[0] = '\0';
}
