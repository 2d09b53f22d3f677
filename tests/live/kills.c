/* Kills a recording with SIGKILL at random instants, and checks its log: kills LOG_FOLDER N_KILLS
 * [SEED]
 *
 * Three threads record as fast as they can. In memory that outlives the process each counts the
 * calls that have returned. Every row of such a call must be in the log, in its thread's order,
 * with its stack and its name; and at most one more call, which was under way. Every other log is
 * so small that it wraps: then the remaining rows must be the newest, and the blocks alive before
 * them must be right.
 */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kills_log.h"
#include "programs/live/state_friend.h"

enum { MAX_DELAY_US = 5000, N_SHAPES = 256, PATH_BYTES = 4096 };

static kills_shared *shared;

/* ---- the killed process ---- */

/* Stacks of 256 shapes, so that stacks are written all the time. The barriers keep the frames. */
static __attribute__((noinline)) void descend(unsigned shape, unsigned depth,
                                              const tide_live_entry *entry) {
    if (depth == 0) {
        tide_live_record(entry);
    } else if ((shape & 1) != 0) {
        descend(shape >> 1, depth - 1, entry);
        __asm__ volatile("" ::"r"(depth));
    } else {
        descend(shape >> 1, depth - 1, entry);
        __asm__ volatile("nop" ::"r"(depth));
    }
}

static void do_call(unsigned thread, uint64_t number) {
    kills_call call = kills_call_of(thread, number);
    tide_live_entry entry = {.action = call.action,
                             .address = call.address,
                             .n_bytes = call.n_bytes,
                             .sequence = call.sequence};
    if (call.action == TIDE_ACTION_MARK) {
        tide_live_mark(call.name);
    } else {
        descend((unsigned)(number * 167 % N_SHAPES), 8, &entry);
    }
}

static void *work(void *of) {
    unsigned thread = (unsigned)(uintptr_t)of;
    for (uint64_t number = 0;; number++) {
        do_call(thread, number);
        atomic_store_explicit(&shared->n_returned[thread], number + 1, memory_order_release);
    }
    return NULL;
}

/* Never returns. */
static void record_forever(void) {
    pthread_t threads[KILLS_THREADS];
    if (tide_live_open() == NULL) {
        _exit(1);
    }
    for (unsigned i = 0; i < KILLS_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0) {
            _exit(1);
        }
    }
    for (;;) {
        (void)pause();
    }
}

/* ---- the killer ---- */

static void set_number(const char *name, long number) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%ld", number);
    (void)setenv(name, text, 1);
}

/* Whether the process was killed; it exits normally only if it could not begin. */
static bool kill_one(useconds_t delay_us) {
    int how = 0;
    memset(shared, 0, sizeof(*shared));
    pid_t child = fork();
    if (child == 0) {
        record_forever();
    }
    (void)usleep(delay_us);
    (void)kill(child, SIGKILL);
    return child > 0 && waitpid(child, &how, 0) == child && WIFSIGNALED(how);
}

/* Any file except the log. */
static int count_others(const char *folder, const char *name) {
    int n = 0;
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry = open_folder != NULL ? readdir(open_folder) : NULL; entry != NULL;
         entry = readdir(open_folder)) {
        n += strcmp(entry->d_name, name) != 0 && strcmp(entry->d_name, ".") != 0 &&
             strcmp(entry->d_name, "..") != 0;
    }
    if (open_folder != NULL) {
        (void)closedir(open_folder);
    }
    return n;
}

int main(int argc, char **argv) {
    char path[PATH_BYTES];
    int n_kills = argc > 2 ? atoi(argv[2]) : 0;
    kills_figures figures = {0};
    if (n_kills < 1) {
        (void)fprintf(stderr, "usage: kills LOG_FOLDER N_KILLS [SEED]\n");
        return 2;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)mkdir(argv[1], S_IRWXU);
    (void)snprintf(path, sizeof(path), "%s/killed.log", argv[1]);
    (void)unlink(path);
    (void)setenv("TIDEMARK_LIVE", path, 1);
    (void)setenv("TIDEMARK_LIVE_STACKS", "native", 1);
    srand((unsigned)(argc > 3 ? atoi(argv[3]) : 1));
    int n_bad = shared == MAP_FAILED || count_others(argv[1], "") > 0;
    for (int i = 0; i < n_kills && n_bad == 0; i++) {
        set_number("TIDEMARK_LIVE_BYTES", i % 2 == 0 ? 8 << 20 : 1 << 20);
        bool was_killed = kill_one((useconds_t)(rand() % ((1 + i % 2) * MAX_DELAY_US)));
        bool is_right = was_killed && kills_check_log(path, shared, &figures) &&
                        count_others(argv[1], "killed.log") == 0;
        if (!is_right) {
            (void)printf("kill %d: %s\n", i, was_killed ? "WRONG" : "it ended by itself");
            n_bad++;
        } else {
            (void)unlink(path);
        }
    }
    (void)printf(
        "%d kills: %" PRIu64 " before there was a log; %" PRIu64 " calls had returned, %" PRIu64
        " rows were read, %" PRIu64 " logs had gone round; %d wrong\n",
        n_kills, figures.n_without, figures.n_returned, figures.n_rows, figures.n_round, n_bad);
    bool has_met_all = figures.n_without < figures.n_logs && figures.n_round > 0;
    return n_bad == 0 && (n_kills < 100 || has_met_all) ? 0 : 1;
}
