/* journal_internal.h - writes records of the log file for the objects that rows refer to: call
 * stacks, strings, streams, loaded code, and texts that describe the run.
 *
 * Each function is called when such an object gets its number, before any row can refer to it.
 * Thread-safe. A function takes the journal's lock and, under it, none of the recorder's locks, so
 * it may be called while those are held. With a NULL journal the functions do nothing. A record
 * that does not fit is counted and dropped.
 */
#ifndef TIDE_RECORDER_JOURNAL_INTERNAL_H
#define TIDE_RECORDER_JOURNAL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "recorder/log_file_internal.h"

typedef struct tide_journal tide_journal;

/* Opens the journal of the file, which must outlive it, and lists the code that is loaded now. The
 * caller destroys it. */
TIDE_NODISCARD tide_status tide_journal_create(const tide_hostmem *mem, const tide_log_file *file,
                                               tide_journal **ret_journal);
void tide_journal_destroy(tide_journal *journal);

void tide_journal_string(tide_journal *journal, uint32_t number, const char *text);

/* The addresses are return addresses, innermost first, or numbers of Python frames. Code that was
 * loaded since the last stack is listed before the stack. */
void tide_journal_stack(tide_journal *journal, uint32_t number, const uint64_t *pcs, size_t n_pcs);

void tide_journal_stream(tide_journal *journal, uint32_t number, uint32_t device, uint64_t handle);

/* A key such as "run.command" and its value. The last value of a key counts. */
void tide_journal_text(tide_journal *journal, const char *key, const char *value);

/* A record that refers to no other (log_format_friend.h). */
void tide_journal_record(tide_journal *journal, tide_log_record_kind kind, const void *payload,
                         size_t n_bytes);

/* ---- for log_modules.c ---- */

/* Called under the journal's lock: writes a record whose payload is the head followed by the tail.
 */
void tide_journal_put(tide_journal *journal, tide_log_record_kind kind, const void *head,
                      size_t n_head_bytes, const void *tail, size_t n_tail_bytes);

/* The loaded code that has been listed. */
typedef struct tide_journal_modules {
    tide_map known;    /* hash of path and load address -> 1 */
    uint64_t n_loaded; /* the dynamic linker's counts of loaded and */
    uint64_t n_gone;   /* unloaded modules when code was last listed */
} tide_journal_modules;

/* Called under the journal's lock: writes a record for each module that is not listed yet. */
void tide_journal_list_modules(tide_journal *journal, tide_journal_modules *modules);

#endif
