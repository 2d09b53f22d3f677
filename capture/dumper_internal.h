/* dumper_internal.h - the parts of a dumper: its thread (dumper.c), the names of its files
 * (dumper_files.c), the signals and the end of the process (dumper_signals.c).
 */
#ifndef TIDE_CAPTURE_DUMPER_INTERNAL_H
#define TIDE_CAPTURE_DUMPER_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "capture/capture.h"
#include "capture/dumper.h"

enum { TIDE_LABEL_BYTES = 40, TIDE_MAX_WAITING = 2, TIDE_DUMP_PATH_BYTES = 4096 };

/* A copy on its way to a file. */
typedef struct tide_dump_job {
    tide_captured *captured;      /* owned */
    char label[TIDE_LABEL_BYTES]; /* "usr2", "step-200" */
    bool is_numbered;             /* the name has a number; false: only if the plain name exists */
    int64_t copy_ns;              /* time that the copy took */
} tide_dump_job;

/* Progress of the last snapshot of a process that ends. */
typedef enum tide_last_state {
    TIDE_LAST_NONE = 0, /* the process continues */
    TIDE_LAST_ASKED,    /* the thread has not seen the request yet */
    TIDE_LAST_COPIES,   /* copies the tables: the only step that may wait for ever, for a lock */
    TIDE_LAST_WRITES,   /* resolves symbols and writes the file */
    TIDE_LAST_DONE      /* finished, with or without a file */
} tide_last_state;

struct tide_dumper {
    const tide_hostmem *mem;              /* borrowed */
    tide_recorder *recorder;              /* borrowed; may be NULL */
    tide_cache *cache;                    /* borrowed */
    tide_dumper_config config;            /* its path points to `path` */
    char *path;                           /* owned */
    const char *signal_label;             /* "usr2"; static, or signal_text */
    char signal_text[16];                 /* "signal-40" */
    pid_t process;                        /* the process that made it: a forked process lacks its
                                             thread */
    pthread_t thread;                     /* reads jobs */
    sem_t wake;                           /* posted for each job and each request below */
    atomic_uint n_signals;                /* signals not served yet */
    atomic_int last;                      /* tide_last_state */
    atomic_bool is_abort;                 /* the last snapshot is that of abort */
    atomic_size_t n_oom;                  /* snapshots taken because memory ran out */
    pthread_mutex_t lock;                 /* guards everything below */
    pthread_cond_t changed;               /* signalled if there is room or a job is done */
    tide_dump_job jobs[TIDE_MAX_WAITING]; /* oldest first */
    size_t n_jobs;
    uint64_t n_taken;   /* jobs ever queued */
    uint64_t n_written; /* jobs finished, with or without a file */
    bool is_stopping;   /* the thread ends when no work remains */
};

/* dumper_files.c. Makes the name of a file that does not exist yet: "run.usr2-3.json.gz".
 * TIDE_INVALID if it would be too long. */
TIDE_NODISCARD tide_status tide_dump_path(const char *path, const char *label, bool is_numbered,
                                          char ret_path[TIDE_DUMP_PATH_BYTES], tide_error *error);
/* "usr2"; NULL if the signal has no name. */
const char *tide_signal_label(int number);
/* Whether a snapshot can be taken on the signal: it is not a fault, and can be caught. */
bool tide_signal_is_usable(int number);

/* dumper_signals.c. Between enter and leave, the dumper handles signals and the end of the
 * process. */
TIDE_NODISCARD tide_status tide_dumper_enter(tide_dumper *dumper, tide_error *error);
void tide_dumper_leave(tide_dumper *dumper);

#endif
