/* digest.h - the few figures of one rank that a report of many ranks needs: peaks by step, the rows
 * of the peak by line of the program, the answer of `tidemark explain`, settings, a short timeline.
 *
 * Made of a snapshot, or read from a file of at most TIDE_DIGEST_BYTES (docs/reference/digest.md).
 * A digest is in the arena that its maker is given; only tide_digest_shrink changes it. Texts are
 * UTF-8 and never NULL; numbers are -1 where they are unknown. What a digest leaves out to stay
 * small is added up.
 */
#ifndef TIDE_SNAPSHOT_DIGEST_H
#define TIDE_SNAPSHOT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/document/event_source.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_DIGEST_VERSION = 1,
    TIDE_DIGEST_EXPLAINED = 1,        /* version of the key "explained" */
    TIDE_DIGEST_BYTES = 50000,        /* of a compressed file that the writer makes */
    TIDE_DIGEST_READ_BYTES = 8 << 20, /* of the text of a file that the reader takes */
    TIDE_DIGEST_ROWS = 128,           /* of a device, when it is made; fewer where it must shrink */
    TIDE_DIGEST_STEPS = 256,
    TIDE_DIGEST_POINTS = 256,
    TIDE_DIGEST_LINE_BYTES = 256 /* of the text of a line or a scope */
};

/* No number of a file is beyond it, so that sums and differences cannot overflow: the writer writes
 * it in place of a larger one, and the reader refuses that. The page has the same limit. */
#define TIDE_DIGEST_MOST_NUMBER ((int64_t)1 << 60)

/* How the rank became known: the words of the file. */
#define TIDE_RANK_RECORDED "recorded"
#define TIDE_RANK_OPTION "option"
#define TIDE_RANK_ANNOTATION "annotation"
#define TIDE_RANK_FILE_NAME "file name"
#define TIDE_RANK_UNKNOWN "none"

/* Blocks that are allocated at the peak and have the first four in common. */
typedef struct tide_digest_row {
    const char *line;      /* "GPT.forward (train.py:40)"; "" without a call stack */
    const char *category;  /* "parameter", ... */
    const char *certainty; /* "named", "rule"; "" where the recording does not say */
    const char *scope;     /* "forward > layer *": numbers are folded; "" outside of every scope */
    int64_t bytes;         /* whole blocks */
    int64_t n_blocks;
} tide_digest_row;

/* One step, or several that follow each other where there are too many. */
typedef struct tide_digest_step {
    int64_t index;   /* the first one's number; -1 */
    int64_t n_steps; /* 1; more: the figures are those of all of them */
    const char *name;
    int64_t begin_ns, end_ns; /* since the recording began */
    int64_t allocated_peak_bytes, reserved_peak_bytes;
    int64_t end_bytes; /* allocated at the end of the last one */
} tide_digest_step;

typedef struct tide_digest_bytes {
    int64_t requested_bytes, allocated_bytes, active_bytes, reserved_bytes;
} tide_digest_bytes;

/* The time between two instants; the highest of each. */
typedef struct tide_digest_point {
    int64_t time_ns; /* of the bucket's last event */
    int64_t allocated_bytes, reserved_bytes;
} tide_digest_point;

/* A loop that grows (snapshot/explain/growth.h). */
typedef struct tide_digest_growth {
    const char *kind;       /* "keeps", "replaces", "fills" */
    const char *line;       /* that allocated it; "": unknown */
    const char *unit;       /* "iteration", "pass", "step" */
    int64_t bytes_per_pass; /* that each further pass adds, on average */
    int64_t bytes;          /* so far */
    int64_t n_passes;       /* complete ones */
} tide_digest_growth;

/* A cause with its cure, as `tidemark explain` prints it. */
typedef struct tide_digest_cause {
    const char *id;   /* "graph_kept" */
    int64_t bytes;    /* that it holds; -1: it has no such figure */
    const char *text; /* cause, cure and cost */
} tide_digest_cause;

/* A sentence of the answer. */
typedef struct tide_digest_sentence {
    const char *key; /* "oom", "cause", "filled", ... (snapshot/explain/words/answer.h) */
    const char *text;
} tide_digest_sentence;

/* The first failed request. All figures are of that instant. */
typedef struct tide_digest_failure {
    int64_t event;    /* -1: no request failed */
    int64_t n_failed; /* requests that failed, in the whole recording */
    int64_t requested_bytes, free_bytes, allocated_bytes, reserved_bytes, total_bytes;
    int64_t margin_bytes; /* that would remain if all free memory were in one piece */
    const char *line;     /* that asked; "": unknown */
} tide_digest_failure;

/* What `tidemark explain` derives from the recording. */
typedef struct tide_digest_explained {
    bool is_known; /* false: read piece by piece, or in a digest of an older tidemark */
    tide_digest_failure failure;
    const tide_digest_growth *growth; /* most bytes first */
    const tide_digest_cause *causes;  /* most important first */
    const tide_digest_sentence *sentences;
    size_t n_growth, n_causes, n_sentences;
} tide_digest_explained;

typedef struct tide_digest_device {
    int64_t index; /* in the snapshot */
    const char *kind, *name;
    int64_t total_bytes;
    int64_t n_events, n_dropped; /* those lost are the whole recording's */
    struct {
        int64_t event, time_ns, step;
        const char *phase;
        tide_digest_bytes bytes;
    } peak;
    tide_digest_bytes max, end;
    int64_t headroom_bytes;        /* of the device, above the highest reserved bytes */
    int64_t low_bytes, high_bytes; /* of the allocated peak: the ends that were run */
    int64_t reserved_low_bytes, reserved_high_bytes; /* of the reserved peak, likewise */
    struct {
        int64_t event; /* -1: never out of memory */
        int64_t time_ns, requested_bytes, free_bytes;
        const char *line;
    } oom;
    tide_digest_explained explained;
    const tide_digest_row *rows; /* most bytes first */
    size_t n_rows;
    struct {
        int64_t bytes, n_blocks, n_rows; /* what `rows` leaves out */
    } rest;
    tide_digest_step *steps;
    size_t n_steps;
    int64_t timeline_begin_unix_us; /* of time 0 */
    tide_digest_point *points;
    size_t n_points;
} tide_digest_device;

typedef struct tide_digest {
    const char *tool_version, *tool_build;
    const char *file;   /* the source's own name, without folders */
    const char *format; /* "tidemark", "pytorch" */
    const char *command, *outcome;
    int64_t started_unix_us;
    const char *ended; /* "SIGSEGV", "status 1"; "": unknown */
    int64_t ended_unix_us;
    tide_snapshot_rank rank;
    const char *node; /* the host, or what distinguishes it from other nodes */
    const char *from; /* TIDE_RANK_RECORDED, ... */
    const char *host_name, *host_os, *host_cpu;
    const tide_snapshot_setting *software, *settings;
    size_t n_software, n_settings;
    tide_digest_device *devices; /* those with memory */
    size_t n_devices;
    const tide_snapshot_owner *owners;
    size_t n_owners;
    const tide_snapshot_inexact *inexact;
    size_t n_inexact;
} tide_digest;

/* What is known of a source besides its snapshot. */
typedef struct tide_digest_source {
    const char *path;
    int64_t rank; /* --rank; -1: not given */
} tide_digest_source;

/* Texts that are not copied are the snapshot's: it outlives the digest. */
TIDE_NODISCARD tide_status tide_digest_make(const tide_snapshot *snapshot,
                                            const tide_digest_source *source, tide_arena *arena,
                                            tide_digest **ret_digest, tide_error *error);

/* The same of events that are read twice, with memory for what is alive at once and for the steps.
 * TIDE_UNSUPPORTED without a message: nothing in the recording names its steps, it has scopes
 * within more than 1000 others, or nothing at all, so that it must be read as a whole. */
TIDE_NODISCARD tide_status tide_digest_make_of_events(const tide_event_source *events,
                                                      const tide_digest_source *source,
                                                      tide_arena *arena, tide_digest **ret_digest,
                                                      tide_error *error);

/* The bytes that each further pass of the loop that grows most adds; 0: nothing grows. False: the
 * digest does not explain the device. */
static inline bool tide_digest_growth_bytes(const tide_digest_device *device, int64_t *ret_bytes) {
    const tide_digest_explained *of = &device->explained;
    *ret_bytes = of->n_growth > 0 ? of->growth[0].bytes_per_pass : 0;
    return of->is_known;
}

/* The rank, and how it became known; -1. */
int64_t tide_digest_find_rank(const tide_snapshot *snapshot, const tide_digest_source *source,
                              const char **ret_from);

/* The rank that the last part of a path names: "rank7", "rank_7", "rank=7", "-r7", ".7.pickle", and
 * the folder's "rank=7" where the file's own name has none; -1. */
int64_t tide_digest_rank_of_path(const char *path);

/* A text that names nothing but a rank, as programs annotate it: "rank 7", "rank=7", "rank7"; -1.
 */
int64_t tide_digest_rank_of_text(const char *text);

/* Halves what has most rows: rows, steps, points; then others; then drops what is explained. False:
 * nothing is left to halve. In place. */
bool tide_digest_shrink(tide_digest *digest);

/* The text of the file, uncompressed, in the arena. */
TIDE_NODISCARD tide_status tide_digest_text(const tide_digest *digest, tide_arena *arena,
                                            const char **ret_text, size_t *ret_bytes);

/* Writes the file, compressed unless its name ends in .json, and shrinks the digest until it has at
 * most TIDE_DIGEST_BYTES compressed. */
TIDE_NODISCARD tide_status tide_digest_save(tide_digest *digest, const char *path,
                                            tide_error *error);

/* Whether the text of a file begins as a digest. */
bool tide_digest_is(const char *path);

/* Reads a text, as tide_digest_text made it. */
TIDE_NODISCARD tide_status tide_digest_read(const char *text, size_t n_bytes, tide_arena *arena,
                                            tide_digest **ret_digest, tide_error *error);

/* Reads a file that has not been checked: errors are as those of tide_snapshot_load. */
TIDE_NODISCARD tide_status tide_digest_load(const char *path, tide_arena *arena,
                                            tide_digest **ret_digest, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
