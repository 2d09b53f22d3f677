/* snapshot.h - a recording as one document in memory: what a snapshot file holds.
 *
 * Built by capture/ from a live recorder, or by snapshot/reader.h from a file; then immutable.
 * Plain tables, indices between them, TIDE_NONE for "none"; bytes and nanoseconds; -1 for "unknown
 * or not measured". The document owns all it points to: everything is in its arena, or in tables
 * that it was given with a release function. docs/reference/snapshot-format.md specifies the file.
 */
#ifndef TIDE_SNAPSHOT_SNAPSHOT_H
#define TIDE_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/autograd_mode.h"
#include "common/event.h"
#include "common/status.h"
#include "snapshot/document/assumed.h"
#include "snapshot/document/serving.h"
#include "snapshot/document/work_areas.h"
#include "snapshot/document/at_failure.h"
#include "snapshot/document/event_table.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_SNAPSHOT_VERSION = 1 };

/* The source place of a return address. Texts are indices into the table of strings. */
typedef struct tide_frame_row {
    uint32_t function; /* TIDE_NONE: unknown */
    uint32_t file;     /* TIDE_NONE: unknown */
    int32_t line;      /* 0: unknown */
    bool inlined;      /* inlined into the frame below it (its caller) */
} tide_frame_row;

/* The text of a line of the program that a frame refers to. */
typedef struct tide_source_row {
    uint64_t file;    /* string: the file of frames */
    uint64_t line;    /* from 1 on */
    const char *text; /* without white space around it; a line is one line */
    bool is_cut;      /* the line is longer */
} tide_source_row;

/* A call stack is a path in a tree: this node's frame is the innermost, its parent's the caller's,
 * and so on. */
typedef struct tide_stack_row {
    uint32_t parent; /* node of the caller, always a smaller index; TIDE_NONE: outermost */
    uint32_t frame;
} tide_stack_row;

typedef struct tide_snapshot_model {
    const char *size; /* preset's name, or "custom"; NULL in the whole struct when no model ran */
    int64_t d_model, d_ff, n_layers, n_heads, vocab_size; /* -1: unknown */
    int64_t n_parameters;                                 /* -1: unknown */
} tide_snapshot_model;

/* How a run ended, in the words of its file. They never change. */
#define TIDE_SNAPSHOT_COMPLETED "completed"
#define TIDE_SNAPSHOT_OOM "oom"         /* out of device memory */
#define TIDE_SNAPSHOT_STOPPED "stopped" /* by its user */
#define TIDE_SNAPSHOT_CRASHED "crashed"
#define TIDE_SNAPSHOT_FAILED "failed"
#define TIDE_SNAPSHOT_RUNNING "running" /* the run continued after the snapshot */

typedef struct tide_snapshot_run {
    const char *command;     /* command line; "" if left out */
    int64_t started_unix_us; /* -1: unknown */
    tide_snapshot_model model;
    const char *precision;      /* fp32, tf32, bf16-mixed, bf16-true; "" unknown */
    const char *mode;           /* forward, forward-backward, train; "" unknown */
    const char *attention;      /* flash, naive; "" unknown */
    const char *recompute;      /* none, block; "" unknown */
    const char *implementation; /* whose memory it is: "tidemark", our own model in C,
                                   "pytorch-eager-2026", PyTorch's as forecast; "" unknown */
    bool keep_graph;
    bool cuda_graph;                          /* the measured steps are replays of a captured one */
    int64_t batch_size, context_length, seed; /* -1: unknown */
    int64_t memory_limit_bytes;               /* -1: none */
    double clip_grad_norm;                    /* -1: no clipping */
    const char *outcome;                      /* TIDE_SNAPSHOT_COMPLETED, ...; "" unknown */
    const char *host_name, *host_os, *host_cpu; /* "" if left out */
    const char *host_computed_by; /* kernels and threads; "" if nothing was computed */
    int64_t host_n_cpus, host_total_bytes;
} tide_snapshot_run;

/* The kind of a device that is pinned memory of the host. */
#define TIDE_KIND_PINNED "pinned"

typedef struct tide_snapshot_device {
    const char *kind; /* cuda, cpu, virtual, pinned */
    const char *name;
    int64_t total_bytes;                     /* -1: unlimited or unknown */
    int64_t compute_capability;              /* 90 for 9.0; -1 */
    int64_t driver_version, runtime_version; /* -1 */
    int64_t sm_clock_khz, memory_clock_khz;  /* highest; -1: unknown */
} tide_snapshot_device;

/* One allocator setting: PyTorch's name where it has one. */
typedef struct tide_snapshot_setting {
    const char *name;
    const char *text; /* NULL: the value is the number; else a text, such as a list */
    double number;    /* -1: unlimited */
} tide_snapshot_setting;

/* A figure that the recording could not know exactly, or a call that a simulated device refused. */
typedef struct tide_snapshot_inexact {
    const char *call;    /* the function: "cusolverDnSgetrf_bufferSize" */
    const char *what;    /* "the workspace is unknown and counted as 0" */
    int64_t bound_bytes; /* at most this many bytes more; -1: unknown */
    bool is_refused;     /* the call failed, as on a device without this feature */
} tide_snapshot_inexact;

/* Memory of one device that one library, or the program itself, got from the driver. */
typedef struct tide_snapshot_owner {
    const char *name;      /* "PyTorch", "NCCL", ...; "others": libraries not distinguished */
    uint32_t device;       /* index of the device */
    int64_t peak_bytes;    /* at the peak of the device's account; -1: unknown, here and below */
    int64_t end_bytes;     /* when the recording ended */
    int64_t n_allocations; /* calls that allocated memory */
} tide_snapshot_owner;

/* The driver's account of a device. The peak is the instant of the highest use that the recording
 * knows of. Memory that no owner explains: snapshot/document/owners.h. */
typedef struct tide_snapshot_driver_account {
    uint32_t device;     /* index of the device; at most one account each */
    int64_t total_bytes; /* of the device; -1: unknown, here and below */
    int64_t used_at_start_bytes, used_at_peak_bytes, used_at_end_bytes;
    int64_t context_bytes;    /* of the memory in use: contexts, kernel code and the driver's own */
    int64_t unmeasured_bytes; /* that a run which fits may need beyond what is in use */
} tide_snapshot_driver_account;

/* A group of the job's ranks that this process is in. Unknown numbers are -1. */
typedef struct tide_snapshot_group {
    const char *name;        /* "tp"; as the program or PyTorch names it */
    const char *description; /* "" without one */
    int64_t size;            /* ranks in it */
    int64_t position;        /* of this rank in the group */
    int64_t first;           /* the first member's rank in the world */
    int64_t stride;          /* from each member's rank to the next; 0: irregular or unknown */
} tide_snapshot_group;

/* The place of this process in a distributed job. */
typedef struct tide_snapshot_rank {
    int64_t rank, local_rank, world_size; /* -1: unknown */
    const tide_snapshot_group *groups;    /* in the order in which they were made */
    size_t n_groups;
} tide_snapshot_rank;

/* The range of a device's peaks, if they depend on when the work on streams completes. The low end
 * is for work that completes immediately, the high end for work that completes when the host waits.
 * A program that was run once has one end, a program that was run twice has both. -1: that end is
 * unknown. */
typedef struct tide_snapshot_range {
    int64_t device; /* index; -1: unknown, the row is empty */
    int64_t allocated_low_bytes, allocated_high_bytes;
    int64_t reserved_low_bytes, reserved_high_bytes;
} tide_snapshot_range;

/* A private pool: {n, 0} of a CUDA graph, {0, n} made by the user. */
typedef struct tide_snapshot_pool {
    uint32_t id[2];
} tide_snapshot_pool;

/* Parameters of one type that the modules of the program held. */
typedef struct tide_snapshot_type {
    const char *name;  /* "float32", as PyTorch names it */
    int64_t bytes;     /* of their memory on devices of CUDA; -1: unknown */
    int64_t n_tensors; /* -1: unknown */
} tide_snapshot_type;

/* Samples of one phase in ms, one per measured step. */
typedef struct tide_snapshot_phase {
    const char *name; /* forward, backward, optimizer, step */
    size_t n_samples; /* 0: not computed (virtual device) */
    const double *host_ms;
    const double *device_ms; /* -1 where not measured */
} tide_snapshot_phase;

typedef struct tide_snapshot_timing {
    int64_t warmup_steps, measured_steps; /* -1: unknown */
    const tide_snapshot_phase *phases;    /* in the order of a step */
    size_t n_phases;
    bool phases_synced; /* the host waited for the device after each phase: host_ms includes the
                           device's work */
    double flops;       /* of one measured step by the closed form; -1 unknown */
    double stated_peak_flops;     /* of the device; -1 unknown */
    double recorder_ns_per_event; /* -1: not measured */
    /* Host times of whole steps after the last event, in pairs: with recording and without. */
    const double *recorded_step_ms;   /* n_recorder_pairs */
    const double *unrecorded_step_ms; /* n_recorder_pairs */
    size_t n_recorder_pairs;          /* 0: not measured */
    const double *losses;    /* of every step, warm-up first; NaN and infinities are kept */
    size_t n_losses;         /* 0: not computed, or unknown */
    bool scales_loss;        /* the loss was scaled; else the next two are meaningless */
    double loss_scale;       /* after the last step */
    int64_t n_skipped_steps; /* because of an infinity or a NaN in a gradient */
} tide_snapshot_timing;

/* How long a step would take on the card, by a model, not by measurement. If there is a forecast,
 * the times of scopes, events, phases and kernels in the document are also the model's. Unknown
 * numbers are -1. */
typedef struct tide_snapshot_forecast {
    const char *card;        /* "h100-80"; "": no forecast */
    const char *bound;       /* "the GPU", "the host", "the GPU or the host" */
    double step_ms;          /* the likely time; -1 if only the lower bound is known */
    double low_ms, high_ms;  /* range of the step time */
    double gpu_ms, host_ms;  /* of a step: while the card is busy, while the host is busy */
    double utilisation;      /* FLOP of products over time and stated rate, 0 to 1 */
    double guessed_share;    /* share of the card's time in unknown kernels, 0 to 1 */
    double uncompared_share; /* in kernels that were never compared with a published time */
    double host_factor;      /* the host's time over that of the machine that ran the program */
    bool is_calibrated;      /* the factor was measured or stated */
    int64_t n_steps, step;   /* complete steps; the one that the figures describe */
} tide_snapshot_forecast;

/* Where a document comes from if another program recorded it. */
typedef struct tide_snapshot_origin {
    const char *format;        /* "pytorch"; "" in our own recording */
    uint64_t n_events;         /* of the file that was read; 0 in our own recording */
    uint64_t n_contradictions; /* places where that file's events and segments disagreed */
} tide_snapshot_origin;

typedef struct tide_snapshot {
    tide_arena arena;         /* everything the pointers below point to */
    const char *tool_version; /* of the program that wrote it; "" unknown */
    const char *tool_build;   /* its build type and compiler; "" unknown */
    uint64_t n_odd;           /* odd values of the file, which are read as unknown */
    const char *first_odd;    /* the place of the first of them; "": none */
    tide_snapshot_origin origin;
    const char *user_path; /* folder of the program's own code, even within installed packages; "":
                              not given */
    tide_snapshot_run run;
    const char *clock_source;      /* monotonic, tsc, none, forecast */
    int64_t device_uncertainty_ns; /* device times of scopes may differ this much from that clock;
                                      -1: unknown, or there are none */
    const tide_snapshot_device *devices;
    size_t n_devices;
    const tide_stream_row *streams; /* indexed by the stream numbers of rows */
    size_t n_streams;
    const tide_snapshot_setting *settings; /* of the allocator */
    size_t n_settings;
    const tide_snapshot_setting *software; /* versions: "torch", "cuda", "python"; the values are
                                              texts */
    size_t n_software;
    const tide_snapshot_setting *plan; /* facts that `tidemark plan` asks of a program, by name; the
                                          values are texts; none unless the run observed */
    size_t n_plan;
    const tide_snapshot_inexact *inexact; /* in order of occurrence */
    size_t n_inexact;
    const tide_snapshot_assumed *assumed; /* those that may take most bytes more first */
    size_t n_assumed;
    const tide_snapshot_kv_pool *kv_pools; /* of servers of language models */
    size_t n_kv_pools;
    const tide_snapshot_xla *xla; /* of a JAX program */
    size_t n_xla;
    const tide_snapshot_area_call *area_calls; /* of cuDNN, in order of occurrence; not in the
                                                  file */
    size_t n_area_calls;
    const tide_snapshot_work_areas *work_areas; /* by device; none without such calls */
    size_t n_work_areas;
    const tide_snapshot_owner *owners; /* of all devices; none if only the allocator was
                                          recorded */
    size_t n_owners;
    const tide_snapshot_driver_account *driver_accounts;
    size_t n_driver_accounts;
    tide_snapshot_rank rank;           /* all unknown if the process was no rank of a job */
    const tide_snapshot_range *ranges; /* none for a device whose peak is not known to be an end */
    size_t n_ranges;
    const tide_snapshot_type *parameter_types; /* most bytes first; at the first failed request,
                                                  else at the end; none if they were not recorded */
    size_t n_parameter_types;
    tide_snapshot_at_failure at_failure;
    tide_snapshot_timing timing;
    tide_snapshot_forecast forecast;
    uint64_t n_dropped; /* events lost because the log was full; for PyTorch's, a lower bound */
    uint64_t n_scopes_dropped;  /* scopes lost: their table was full, or the log is damaged */
    const char *full_policy;    /* stop, keep-newest; "": unknown, or events were lost otherwise */
    const char *const *strings; /* UTF-8; rows refer to them by number */
    size_t n_strings;
    const char *const *own_categories; /* the file's own names of the categories TIDE_N_CATEGORIES
                                          and up */
    size_t n_own_categories;
    const tide_frame_row *frames; /* distinct */
    size_t n_frames;
    const tide_source_row *source; /* by file and line, each once; none if no text was recorded */
    size_t n_source;
    uint64_t n_source_omitted;    /* lines of the program in frames for which there was no room */
    const tide_stack_row *stacks; /* a tree, parents first */
    size_t n_stacks;
    const tide_scope_row *scopes; /* parents first, in order of begin */
    size_t n_scopes;
    const tide_kernel_row *kernels; /* launches by kernel and place; none if none was traced */
    size_t n_kernels;
    const tide_segment_row *start_segments; /* before the first event */
    size_t n_start_segments;
    const tide_block_row *start_blocks; /* indexed by the segments' first_block */
    size_t n_start_blocks;
    const uint8_t *start_block_certainty; /* n_start_blocks of tide_certainty; NULL: unknown for
                                             all */
    const tide_segment_row *end_segments; /* after the last event */
    size_t n_end_segments;
    const tide_block_row *end_blocks;
    size_t n_end_blocks;
    const uint8_t *end_block_certainty; /* n_end_blocks; NULL */
    tide_event_table events;            /* oldest first; n_events rows */
    size_t n_events;
    const uint8_t *event_certainty;  /* n_events of tide_certainty, of the rows' categories; free
                                        rows repeat the block's; NULL: unknown for all */
    const tide_snapshot_pool *pools; /* that `event_pool` refers to; at most UINT16_MAX */
    size_t n_pools;
    const uint16_t *event_pool; /* n_events: the pool's index + 1, 0: none; NULL: unknown for all */
    const uint16_t *event_variant; /* n_events: distinguishes stacks of one row of `stacks` that
                                      differ in the instructions on its lines; NULL: none differ,
                                      or unknown */
    const uint8_t *event_mode;     /* n_events of tide_autograd_mode, of the thread that allocated;
                                      NULL: unknown for all */
} tide_snapshot;

/* Creates an empty document: every text "", every number unknown, no rows. `mem` NULL: default
 * heap. */
TIDE_NODISCARD tide_status tide_snapshot_create(const tide_hostmem *mem,
                                                tide_snapshot **ret_snapshot);
void tide_snapshot_destroy(tide_snapshot *snapshot);

/* One row of the table of events. */
static inline tide_event tide_event_at(const tide_snapshot *snapshot, size_t row) {
    return tide_event_table_row(&snapshot->events, row);
}

/* The text of a string index; "" for TIDE_NONE. */
const char *tide_snapshot_text(const tide_snapshot *snapshot, uint32_t string);

/* Whether the end is known but the peak is not, because events of PyTorch's history are missing. */
bool tide_snapshot_lacks_peak(const tide_snapshot *snapshot);

/* Whether the device is pinned memory of the host. */
bool tide_snapshot_is_pinned(const tide_snapshot *snapshot, size_t device);

/* Number of categories that rows may have: the known ones and the file's own. */
size_t tide_snapshot_n_categories(const tide_snapshot *snapshot);
/* The name of a category; "?" for a number out of range. */
const char *tide_snapshot_category(const tide_snapshot *snapshot, size_t number);

/* Whether the document records anything of its rank. */
bool tide_snapshot_has_rank(const tide_snapshot *snapshot);

/* The range of a device's peaks; NULL if there is none. */
const tide_snapshot_range *tide_snapshot_range_of(const tide_snapshot *snapshot, size_t device);

/* Whether the certainty of any category is known. */
bool tide_snapshot_has_certainty(const tide_snapshot *snapshot);

/* Removes the command line, the host's name and the folders of absolute paths: of every text in the
 * tables of strings and settings that starts with '/' or with a drive. Call it before writing a
 * document; its rows stay as they are. TIDE_NO_MEMORY leaves it unchanged. */
TIDE_NODISCARD tide_status tide_snapshot_strip_private(tide_snapshot *snapshot);

/* Writes the document gzip-compressed to PATH: first to a temporary name beside it, renamed when
 * complete. A failure leaves an older file unchanged and no partial file. TIDE_IO names the file
 * and the system's reason; TIDE_INVALID: the tables contradict each other (validate.h). */
TIDE_NODISCARD tide_status tide_snapshot_save(const tide_snapshot *snapshot, const char *path,
                                              tide_error *error);

/* Writes the same document, uncompressed, to a sink piece by piece. A failure of the sink ends the
 * writing and is returned. */
TIDE_NODISCARD tide_status tide_snapshot_write_to(const tide_snapshot *snapshot,
                                                  tide_status (*sink)(void *ctx, const char *text,
                                                                      size_t n_bytes),
                                                  void *ctx, tide_error *error);

/* Reads and validates. The file is untrusted: TIDE_FORMAT names the place (byte offset in the
 * uncompressed text and the key), TIDE_LIMIT a limit of docs/reference/snapshot-format.md. Never
 * crashes and never executes anything from the file. `mem` NULL: default heap. */
TIDE_NODISCARD tide_status tide_snapshot_load(const char *path, const tide_hostmem *mem,
                                              tide_snapshot **ret_snapshot, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
