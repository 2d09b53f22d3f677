/* oom_text.h - the message of a request that found no memory, as frameworks print it in logs.
 */
#ifndef TIDE_SNAPSHOT_OOM_TEXT_H
#define TIDE_SNAPSHOT_OOM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/kinds/traceback.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_OOM_TEXT_BYTES = 16 * 1024, TIDE_OOM_PROCESSES = 8, TIDE_OOM_BUFFER_TEXT = 256 };

/* Who printed the message. */
typedef enum tide_oom_form {
    TIDE_OOM_NONE = 0,
    TIDE_OOM_PYTORCH, /* its caching allocator, of CUDA, ROCm (HIP) or XPU */
    TIDE_OOM_MPS,     /* that of Apple's GPUs */
    TIDE_OOM_HOST,    /* PyTorch's allocator of host memory */
    TIDE_OOM_XLA,     /* JAX, and TensorFlow with XLA */
    TIDE_OOM_TENSORFLOW,
    TIDE_OOM_CUPY,
    TIDE_OOM_CUDA_REQUEST, /* a call of the CUDA runtime, whose caller printed the request */
    TIDE_OOM_CUDA          /* the same, without figures */
} tide_oom_form;

/* The setting that a message of PyTorch names. */
typedef enum tide_oom_advice {
    TIDE_OOM_ADVICE_NONE = 0,
    TIDE_OOM_ADVICE_SPLIT,     /* max_split_size_mb, of PyTorch 1.10 to 2.0 */
    TIDE_OOM_ADVICE_SPLIT_2_1, /* the same, of PyTorch 2.1, which also knows the next one */
    TIDE_OOM_ADVICE_EXPANDABLE /* expandable_segments:True */
} tide_oom_advice;

/* Bytes; -1: the message does not say. They are as exact as they are printed. */
typedef struct tide_oom_text {
    tide_oom_form form;
    tide_oom_advice advice;
    int64_t device;
    int64_t requested_bytes;
    int64_t total_bytes;        /* of the device */
    int64_t free_bytes;         /* of the device */
    int64_t allocated_bytes;    /* by the framework */
    int64_t reserved_bytes;     /* by the framework, with the allocated ones */
    int64_t limit_bytes;        /* that the process may use */
    int64_t private_pool_bytes; /* of CUDA graphs, part of allocated_bytes */
    int64_t other_bytes;        /* MPS: allocations of other owners */
    int64_t own_bytes;          /* of the device, in use by this process */
    int64_t cached_bytes;       /* reserved and not allocated, as printed */
    struct {
        int64_t number;
        int64_t bytes;
    } processes[TIDE_OOM_PROCESSES]; /* others, or this one in a container */
    size_t n_processes;
    int64_t parameter_bytes, output_bytes, temporary_bytes, program_bytes; /* XLA's program */
    int64_t fragmentation_bytes;                                           /* in it */
    char buffer[TIDE_OOM_BUFFER_TEXT]; /* XLA's largest buffer: "6.00 MiB, f32[4096,128,3]"; "" */
    bool may_be_late;                  /* an earlier call may have failed */
    bool is_xpu, is_hip;
    bool is_cut; /* figures that such a message has are missing */
} tide_oom_text;

/* Where a message begins in a line; NULL: nowhere. */
const char *tide_oom_text_find(const char *line);

/* Reads a message: the text from its beginning, with the lines that follow it. False: it is no such
 * message. */
bool tide_oom_text_read(const char *text, tide_oom_text *ret_oom);

/* A number with a unit at `text`, after blanks: "2.00 GiB", "176.00MiB", "0 bytes", "1,000 bytes".
 * -1: no such number. */
int64_t tide_text_bytes(const char *text);
/* Half of the last digit of such a number with two decimals, which a printed figure is exact to. */
int64_t tide_text_rounding(int64_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
