/* journal_internal.h - what rows of the log refer to, as records of the log file: call stacks,
 * strings, streams, loaded code, and texts that describe the run.
 *
 * Each hook is called where such a thing gets its number, before anybody can refer to it. Thread-
 * safe; takes one lock and calls nobody who takes another one of the recorder's. A NULL journal:
 * nothing happens. When there is no room for a record it is counted.
 */
#ifndef TIDE_RECORDER_JOURNAL_INTERNAL_H
#define TIDE_RECORDER_JOURNAL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/log_file_internal.h"
#include "common/hostmem.h"
#include "common/status.h"

typedef struct tide_journal tide_journal;

/* Writes into the file's journal, which outlives it, and lists the code that is loaded now. The
 * caller destroys it. */
TIDE_NODISCARD tide_status tide_journal_create(const tide_hostmem *mem, const tide_log_file *file,
                                               tide_journal **ret_journal);
void tide_journal_destroy(tide_journal *journal);

void tide_journal_string(tide_journal *journal, uint32_t number, const char *text);

/* Return addresses, innermost first. Lists code that was loaded since the last stack, too. */
void tide_journal_stack(tide_journal *journal, uint32_t number, const uint64_t *pcs, size_t n_pcs);

void tide_journal_stream(tide_journal *journal, uint32_t number, uint32_t device, uint64_t handle);

/* A key such as "run.command" and its value; the last one of a key counts. */
void tide_journal_text(tide_journal *journal, const char *key, const char *value);

/* ---- for log_modules.c ---- */

/* A record of two parts, under the journal's lock. */
void tide_journal_put(tide_journal *journal, tide_log_record_kind kind, const void *head,
                      size_t n_head_bytes, const void *tail, size_t n_tail_bytes);

/* What was listed of the loaded code. */
typedef struct tide_journal_modules {
    tide_map known;    /* hash of path and place -> 1 */
    uint64_t n_loaded; /* times that code was loaded and */
    uint64_t n_gone;   /* unloaded, when it was listed last; of the whole process */
} tide_journal_modules;

/* Under the journal's lock: writes a record for each piece of code that has none yet. */
void tide_journal_list_modules(tide_journal *journal, tide_journal_modules *modules);

#endif
