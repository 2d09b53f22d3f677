/* run_assumed.h - the file PID.assumed of a run's folder: the values that the program read from a
 * virtual card that computes no values. Typical values were assumed.
 *
 * The file is a tide_run_assumed_header and then rows, one for each line of the program and kind of
 * value. A row is overwritten by newer figures of the same line and kind. Its texts end in a 0.
 */
#ifndef TIDE_WIRE_RUN_ASSUMED_H
#define TIDE_WIRE_RUN_ASSUMED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `magic`: "tideass1". */
#define TIDE_RUN_ASSUMED_MAGIC UINT64_C(0x3173736165646974)

typedef struct tide_run_assumed_header {
    uint64_t magic;
    uint32_t header_bytes, row_bytes; /* of these two structs */
} tide_run_assumed_header;

enum { TIDE_RUN_ASSUMED_ROWS = 1024, TIDE_RUN_ASSUMED_PLACE = 256, TIDE_RUN_ASSUMED_WHAT = 64 };

typedef struct tide_run_assumed {
    char place[TIDE_RUN_ASSUMED_PLACE]; /* line of the program: "loss.py:31"; "": unknown */
    char what[TIDE_RUN_ASSUMED_WHAT];   /* "mask", "number", ... (snapshot/document/snapshot.h) */
    int64_t given_least, given_most;    /* the fewest and the most rows that one read gave; of a
                                           number or a truth value, the values */
    int64_t possible;                   /* rows that a read can give; 0: it is no count of rows */
    int64_t n_times;                    /* reads */
    int64_t row_bytes;                  /* that each row more takes; 0: unknown, or no rows */
    int64_t all_bytes;                  /* that all possible rows take more than those given */
} tide_run_assumed;

#ifdef __cplusplus
}
#endif

#endif
