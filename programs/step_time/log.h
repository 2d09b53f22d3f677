/* log.h - reads a launch log (programs/wire/run_launches.h), or takes over a log of our own model.
 *
 * A log is untrusted: reading it either fails with a message that names the row, or gives rows in
 * which every number is in its range.
 */
#ifndef TIDE_STEP_TIME_LOG_H
#define TIDE_STEP_TIME_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "programs/wire/launch_list.h"
#include "programs/wire/run_launches.h"
#include "common/status.h"
#include "common/text/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_time_log {
    const tide_hostmem *mem; /* borrowed; outlives the log */
    tide_run_launch *rows;   /* owned; without the rows of texts, in order */
    size_t n_rows;
    tide_strings texts;  /* by an own number, which `name` of the rows has; equal texts once */
    char card[48];       /* the card that the program ran on */
    bool is_cut;         /* the file ends within a row */
    double waited_share; /* 0 to 1: the part of the real time between the first and the last mark
                          * that the program's threads waited for a processor; 0: the system did
                          * not report it, or tide_time_log_steady was not called */
} tide_time_log;

/* Reads the file. TIDE_IO: it cannot be read. TIDE_FORMAT: it is not a launch log, or a row makes
 * no sense; the message names it. The caller calls tide_time_log_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_time_log_read(const tide_hostmem *mem, const char *path,
                                              tide_time_log *ret_log, tide_error *error);
void tide_time_log_fini(tide_time_log *log);

/* Whether the log reaches the end of the program: false if the file was cut, or if a program that
 * marked its steps was killed before it could mark its end. */
bool tide_time_log_is_whole(const tide_time_log *log);

/* Takes over the rows and texts of a list, which is empty afterwards. */
void tide_time_log_take(tide_launch_list *list, tide_time_log *ret_log);

/* The text that a row names; "" if none. Valid until tide_time_log_fini. */
const char *tide_time_log_text(const tide_time_log *log, const tide_run_launch *row);

#ifdef __cplusplus
}
#endif

#endif
