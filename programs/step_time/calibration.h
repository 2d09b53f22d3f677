/* calibration.h - the measurements of `tidemark bench calibrate` on a machine: the host's time for
 * a launch, and the speed of its GPU.
 *
 * A calibration is a JSON file (docs/guide/virtual-time.md describes it). It is untrusted: reading
 * it either fails with a message that names the file and the place, or gives numbers in their
 * ranges. python/tidemark/calibrate.py runs the measured code.
 */
#ifndef TIDE_STEP_TIME_CALIBRATION_H
#define TIDE_STEP_TIME_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/wire/run_launches.h"
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

/* A measured data movement: its bytes and its time. */
typedef struct tide_calibration_copy {
    double bytes;    /* read and written */
    double elements; /* written */
    double us;
} tide_calibration_copy;

/* A GPU, and its host. */
typedef struct tide_calibration_gpu {
    char name[TIDE_CALIBRATION_TEXT]; /* from its driver */
    double forward_us, backward_us;   /* the host's time for a launch: Python, PyTorch, driver */
    double rows;                      /* of the square products */
    double product_us[TIDE_CALIBRATION_TYPES]; /* by tide_run_type, the second factor transposed;
                                                * -1: the card does not support the type */
    tide_calibration_copy contiguous, strided; /* of fp32 */
} tide_calibration_gpu;

typedef struct tide_calibration {
    char made[TIDE_CALIBRATION_TEXT];  /* the day, as "2026-11-27" */
    char cpu[TIDE_CALIBRATION_TEXT];   /* the processor's name */
    char torch[TIDE_CALIBRATION_TEXT]; /* the version of PyTorch */
    double forward_us, backward_us;    /* the host's time for a launch on a virtual card */
    bool has_gpu;
    tide_calibration_gpu gpu;
} tide_calibration;

/* Reads the file. TIDE_IO: it cannot be read. TIDE_FORMAT: it is not a calibration; the message
 * names the place. */
TIDE_NODISCARD tide_status tide_calibration_read(const char *path, tide_calibration *ret,
                                                 tide_error *error);

/* Writes the file, replacing an older one. */
TIDE_NODISCARD tide_status tide_calibration_write(const tide_calibration *of, const char *path,
                                                  tide_error *error);

/* Reads calibrate.py's output about a GPU, JSON; "{}": there is none, and nothing is set. */
TIDE_NODISCARD tide_status tide_calibration_take_gpu(const char *text, tide_calibration *to,
                                                     tide_error *error);

/* The name of a type in the file, such as "bf16". */
const char *tide_calibration_type_name(tide_run_type type);

/* ---- values derived from it (calibrated.c) ---- */

/* Where the host's factor comes from. */
typedef enum tide_time_host_basis {
    TIDE_TIME_HOST_PUBLISHED = 0, /* not measured: the middle of published hosts */
    TIDE_TIME_HOST_SCALED,        /* the same, scaled by the speed of the program's machine */
    TIDE_TIME_HOST_STATED,        /* our own model: the log states a launch's time, nothing ran */
    TIDE_TIME_HOST_MODELLED,      /* PyTorch's run of our model, likewise */
    TIDE_TIME_HOST_GIVEN,         /* the user's own number */
    TIDE_TIME_HOST_MEASURED       /* next to a GPU */
} tide_time_host_basis;

/* The host's time relative to its time in the program's launch log. */
typedef struct tide_time_host {
    double factor, least, most;
    tide_time_host_basis basis;
    bool is_of_graph;               /* the step launches a CUDA graph */
    const tide_calibration *own;    /* of the machine that ran the program; borrowed; or NULL */
    const tide_calibration *target; /* of the machine of the forecast; borrowed; NULL: none, or not
                                     * measured next to a GPU. It may be `own` */
} tide_time_host;

/* own, target: NULL for none. factor: the user's; 0 if none. TIDE_INVALID: a target without a GPU,
 * or without an own calibration to compare it with; the message has the remedy. */
TIDE_NODISCARD tide_status tide_time_host_of(const tide_time_constants *constants,
                                             const tide_calibration *own,
                                             const tide_calibration *target, double factor,
                                             tide_time_host *ret_host, tide_error *error);

/* The host of our own model, whose log states the time of a launch: the log's times, and the range
 * of published hosts around their middle. */
tide_time_host tide_time_host_stated(const tide_time_constants *constants);
/* The host of PyTorch's run of our model, whose log states the time of a launch on the machine of
 * the fitted constants: the middle of published hosts, and their range. */
tide_time_host tide_time_host_modelled(const tide_time_constants *constants);

/* host_words.c: the basis of the factor: a calibration, of which machine and day, or none.
 * has_own_card: the result of tide_time_host_has_card for the forecast's card. */
void tide_time_host_words(const tide_time_host *host, bool has_own_card,
                          char ret_words[TIDE_TIME_HOST_WORDS]);

/* The reached share of the card's stated rate or bandwidth; -1: not measured. */
double tide_calibration_share_of_peak(const tide_calibration_gpu *gpu, const tide_time_card *card,
                                      tide_run_type type);
double tide_calibration_share_of_bandwidth(const tide_calibration_copy *copy,
                                           const tide_time_card *card);

/* Whether the GPU of the host's target is that card: its measurements then replace shares of the
 * constants. */
bool tide_time_host_has_card(const tide_time_host *host, const tide_time_card *card);

/* The constants for a card. If its own GPU was measured, they make the model reproduce each
 * measured time; otherwise they are those given. */
tide_time_constants tide_time_constants_for(const tide_time_constants *constants,
                                            const tide_time_host *host, const tide_time_card *card);

#ifdef __cplusplus
}
#endif

#endif
