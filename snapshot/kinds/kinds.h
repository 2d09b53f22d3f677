/* kinds.h - recognizes the files that people have by their content, never by their name.
 *
 * One table (kinds.c) has a row for each kind: how it begins, and what a command does with it. A
 * snapshot inside of a page is read as a snapshot; texts and traces are answered by
 * tide_file_answer_read (file_answer.h); the other kinds are named, with what to record instead.
 */
#ifndef TIDE_SNAPSHOT_KINDS_H
#define TIDE_SNAPSHOT_KINDS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As many bytes of the beginning as a kind is recognized by. */
enum { TIDE_KIND_BYTES = 4096 };

typedef enum tide_kind {
    TIDE_KIND_UNKNOWN = 0,
    TIDE_KIND_EMPTY,
    TIDE_KIND_PICKLE,        /* a snapshot of PyTorch */
    TIDE_KIND_DOCUMENT,      /* a JSON object: our snapshot, or PyTorch's as JSON */
    TIDE_KIND_OWN_PAGE,      /* of `tidemark view` */
    TIDE_KIND_VIZ_PAGE,      /* of PyTorch's memory_viz */
    TIDE_KIND_TRACE,         /* of torch.profiler, or another trace of Chrome's format */
    TIDE_KIND_TIMELINE,      /* export_memory_timeline: sums by category */
    TIDE_KIND_RAW_TIMELINE,  /* the same, one row an event */
    TIDE_KIND_TIMELINE_PAGE, /* the same as a picture */
    TIDE_KIND_TEXT,          /* a log, or printed statistics */
    TIDE_KIND_LAUNCHES,      /* a launch log of a virtual card */
    TIDE_KIND_NSYS_REPORT,
    TIDE_KIND_SQLITE,
    TIDE_KIND_WANDB,
    TIDE_KIND_WANDB_JSON,
    TIDE_KIND_TENSORBOARD,
    TIDE_KIND_CHECKPOINT, /* of torch.save */
    TIDE_KIND_PAGE,       /* another page */
    TIDE_N_KINDS
} tide_kind;

/* The kind of a file whose (decompressed) text begins with these bytes: all of it, or
 * TIDE_KIND_BYTES. Statistics that are written as JSON are TIDE_KIND_TEXT. */
tide_kind tide_kind_of(const char *bytes, size_t n_bytes);

/* "a report of Nsight Systems": what a file of this kind is. */
const char *tide_kind_name(tide_kind kind);
/* What to do with a file that is not a snapshot; "" if nothing is known. The recorder's part
 * follows. */
const char *tide_kind_advice(tide_kind kind);
/* "record the program with ..."; "" if that is no use. */
const char *tide_kind_recorder(tide_kind kind);

#ifdef __cplusplus
}
#endif

#endif
