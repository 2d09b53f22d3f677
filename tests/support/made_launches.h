/* made_launches.h - launch logs made row by row, for tests of programs/step_time/. On any failure
 * the test fails.
 */
#ifndef TIDE_TESTS_SUPPORT_MADE_LAUNCHES_H
#define TIDE_TESTS_SUPPORT_MADE_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

#include "programs/wire/run_launches.h"
#include "programs/step_time/log.h"

enum { MADE_ROWS = 1280 }; /* more than a stream's queue holds */

/* A log while it is made: the file's bytes, row by row. */
typedef struct made_launches {
    tide_run_launches_header header;
    tide_run_launch rows[MADE_ROWS]; /* those of texts included */
    size_t n_rows;
    uint32_t n_texts;
    int64_t host_ns; /* of the next row */
} made_launches;

void made_launches_begin(made_launches *to, const char *card);

/* Adds the row at the clock's time, and advances the clock by that many microseconds. */
void made_launches_add(made_launches *to, tide_run_launch row, int64_t us);

/* The number of a new text. */
uint32_t made_launches_text(made_launches *to, const char *text);
/* A mark; the clock does not move. */
void made_launches_mark(made_launches *to, const char *name);

/* Rows of these kinds, on the null stream, without a name. */
tide_run_launch made_kernel(tide_run_family family, uint64_t n_bytes);
tide_run_launch made_product(tide_run_type type, uint32_t m, uint32_t n, uint32_t k);

/* Writes the bytes to a temporary file, reads it back and removes it. */
tide_status made_launches_read(const made_launches *from, tide_time_log *ret_log,
                               tide_error *error);
/* The same for a file that ends after that many bytes. */
tide_status made_launches_read_cut(const made_launches *from, size_t n_bytes,
                                   tide_time_log *ret_log, tide_error *error);
size_t made_launches_bytes(const made_launches *from);

#endif
