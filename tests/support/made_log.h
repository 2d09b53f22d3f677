/* made_log.h - logs of live recordings as programs/live/ would write them, made row by row. On any
 * failure the test fails.
 */
#ifndef TIDE_TESTS_SUPPORT_MADE_LOG_H
#define TIDE_TESTS_SUPPORT_MADE_LOG_H

#include "common/event.h"
#include "recorder/event_log.h"
#include "recorder/journal_internal.h"
#include "recorder/log_file_internal.h"

/* A log while it is written. Its rows are a microsecond apart. */
typedef struct made_log {
    char path[256];
    tide_log_file file;
    tide_event_log log;
    tide_journal *journal;
    int64_t time_ns;
    uint32_t n_strings;
    uint32_t n_stacks;
    uint32_t n_frames; /* of Python */
    uint16_t n_pools;
} made_log;

/* A log in its own file, which made_log_remove removes. `max_base` 0: it stops when full; else it
 * keeps the newest rows. */
void made_log_open(made_log *log, size_t max_events, size_t max_base);
/* The same at that path. */
void made_log_open_at(made_log *log, const char *path, size_t max_events, size_t max_base);

/* The process ends: the log is whole. */
void made_log_close(made_log *log);
/* The process is killed. */
void made_log_kill(made_log *log);
void made_log_remove(const made_log *log);

/* ---- the targets of rows ---- */

void made_log_text(made_log *log, const char *key, const char *value);
uint32_t made_log_string(made_log *log, const char *text);
uint16_t made_log_pool(made_log *log, uint64_t first, uint64_t second);
/* The number of a stack of that many Python frames, whose functions are named after that number. */
uint32_t made_log_stack(made_log *log, const char *function, size_t n_frames);
/* The number of a stack of one Python frame. */
uint32_t made_log_stack_at(made_log *log, const char *file, uint32_t line);
void made_log_stream(made_log *log, uint8_t number, uint8_t device, uint64_t handle);

/* ---- rows ---- */

/* A row about that memory with no other values. */
tide_live_row made_row(int action, uint64_t address, uint64_t n_bytes);
void made_log_add(made_log *log, tide_live_row row);
/* made_row and made_log_add in one call. */
void made_log_event(made_log *log, int action, uint64_t address, uint64_t n_bytes);
/* `number`: of marks of that name before it. */
void made_log_mark(made_log *log, const char *name, uint64_t number);
void made_log_label(made_log *log, uint64_t address, const char *category, const char *name,
                    int certainty);
/* `action` as in tide_recover_call. */
void made_log_call(made_log *log, int action, uint64_t address, uint64_t n_bytes,
                   const char *function, const char *owner);

#endif
