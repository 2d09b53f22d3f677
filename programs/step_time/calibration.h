/* calibration.h - what `tidemark bench calibrate` measured on a machine: the host's time for a
 * launch, and what its GPU does.
 *
 * A calibration is a JSON file (docs/virtual-time.md describes it). It is untrusted: whatever it
 * holds, reading it fails with a message that names the file and the place, or gives numbers in
 * their ranges. python/tidemark/calibrate.py runs what is measured.
 */
#ifndef TIDE_STEP_TIME_CALIBRATION_H
#define TIDE_STEP_TIME_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/run_launches.h"
#include "common/status.h"
#include "programs/step_time/card.h"
#include "programs/step_time/constants.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_CALIBRATION_TEXT = 96,
    TIDE_CALIBRATION_TYPES = TIDE_RUN_FP16 + 1,
    TIDE_TIME_HOST_WORDS = 1280
};

/* Bytes that something moved, and how long it took. */
typedef struct tide_calibration_copy {
    double bytes;    /* read and written */
    double elements; /* that were written */
    double us;
} tide_calibration_copy;

/* A GPU, and the host beside it. */
typedef struct tide_calibration_gpu {
    char name[TIDE_CALIBRATION_TEXT]; /* as its driver names it */
    double forward_us, backward_us;   /* of the host for a launch: Python, PyTorch and the driver */
    double rows;                      /* of the square products */
    double product_us[TIDE_CALIBRATION_TYPES]; /* by tide_run_type, the second factor transposed;
                                                  -1: the card does not compute in that type */
    tide_calibration_copy contiguous, strided; /* of fp32 */
} tide_calibration_gpu;

typedef struct tide_calibration {
    char made[TIDE_CALIBRATION_TEXT];  /* the day, as "2026-11-27" */
    char cpu[TIDE_CALIBRATION_TEXT];   /* the processor's name */
    char torch[TIDE_CALIBRATION_TEXT]; /* the version of PyTorch */
    double forward_us, backward_us;    /* of the host for a launch on a virtual card, which has no
                                          driver */
    bool has_gpu;
    tide_calibration_gpu gpu;
} tide_calibration;

/* Reads the file. TIDE_IO: it cannot be read. TIDE_FORMAT: it is no calibration; the message says
 * where. */
TIDE_NODISCARD tide_status tide_calibration_read(const char *path, tide_calibration *ret,
                                                 tide_error *error);

/* Writes the file, in place of an older one. */
TIDE_NODISCARD tide_status tide_calibration_write(const tide_calibration *of, const char *path,
                                                  tide_error *error);

/* What calibrate.py printed about a GPU, JSON; "{}": there is none, and nothing is set. */
TIDE_NODISCARD tide_status tide_calibration_take_gpu(const char *text, tide_calibration *to,
                                                     tide_error *error);

/* The word of a type in the file, such as "bf16". */
const char *tide_calibration_type_name(tide_run_type type);

/* ---- what follows from it (calibrated.c) ---- */

/* Where the host's factor comes from. */
typedef enum tide_time_host_basis {
    TIDE_TIME_HOST_PUBLISHED = 0, /* nothing was measured: the middle of published hosts */
    TIDE_TIME_HOST_SCALED,        /* the same, by how fast the machine is that ran the program */
    TIDE_TIME_HOST_STATED,   /* our own model: what a launch takes is stated, and nothing ran */
    TIDE_TIME_HOST_MODELLED, /* PyTorch's run of our model, likewise */
    TIDE_TIME_HOST_GIVEN,    /* the user's own number */
    TIDE_TIME_HOST_MEASURED  /* beside a GPU */
} tide_time_host_basis;

/* The host's time over what a program's launch log says that it took. */
typedef struct tide_time_host {
    double factor, least, most;
    tide_time_host_basis basis;
    bool is_of_graph;               /* the step launches a CUDA graph */
    const tide_calibration *own;    /* of the machine that ran the program; borrowed; NULL: none */
    const tide_calibration *target; /* of the machine that the forecast is for; borrowed; NULL:
                                       none, or not measured beside a GPU. It may be `own` */
} tide_time_host;

/* own, target: NULL for none. factor: the user's; 0: none. TIDE_INVALID: a target without a GPU, or
 * without a calibration of one's own to compare it with; the remedy. */
TIDE_NODISCARD tide_status tide_time_host_of(const tide_time_constants *constants,
                                             const tide_calibration *own,
                                             const tide_calibration *target, double factor,
                                             tide_time_host *ret_host, tide_error *error);

/* The host of our own model, whose log states what a launch takes: the log's times, and the range
 * that published hosts have around their middle. */
tide_time_host tide_time_host_stated(const tide_time_constants *constants);
/* The host of PyTorch's run of our model, whose log states what a launch takes on the machine that
 * the constants were fitted on: the middle of published hosts, and their range. */
tide_time_host tide_time_host_modelled(const tide_time_constants *constants);

/* host_words.c: what the factor rests on: a calibration, of which machine and day, or none.
 * has_own_card: as tide_time_host_has_card says of the forecast's card. */
void tide_time_host_words(const tide_time_host *host, bool has_own_card,
                          char ret_words[TIDE_TIME_HOST_WORDS]);

/* The share of the card's stated rate or bandwidth that was reached; -1: not measured. */
double tide_calibration_share_of_peak(const tide_calibration_gpu *gpu, const tide_time_card *card,
                                      tide_run_type type);
double tide_calibration_share_of_bandwidth(const tide_calibration_copy *copy,
                                           const tide_time_card *card);

/* Whether the GPU of the host's target is that card: what was measured of it then replaces shares
 * of the constants. */
bool tide_time_host_has_card(const tide_time_host *host, const tide_time_card *card);

/* The constants for a card: where its own GPU was measured, such that the model gives each time
 * that was measured; else those given. */
tide_time_constants tide_time_constants_for(const tide_time_constants *constants,
                                            const tide_time_host *host, const tide_time_card *card);

#ifdef __cplusplus
}
#endif

#endif
