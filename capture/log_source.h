/* log_source.h - the events of a log file one after another, for reports of recordings that are
 * larger than memory.
 *
 * It gives what tide_recover makes of the same file (capture/recover.h), and as there the file is
 * untrusted. In memory are names, call stacks, what is alive at once, and a few thousand rows; not
 * the events and not the scopes. Only two things may differ from a recovery: the number of a call
 * stack, since stacks are counted that no event refers to, and the begin of a scope that is
 * damaged.
 */
#ifndef TIDE_CAPTURE_LOG_SOURCE_H
#define TIDE_CAPTURE_LOG_SOURCE_H

#include "capture/recover.h"
#include "snapshot/document/event_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_log_source tide_log_source;

/* Whether the file begins like a log. */
bool tide_log_source_is_log(const char *path);

/* TIDE_UNSUPPORTED with no message: the log can only be read as a whole, because a process still
 * writes it, or because it is that of a recorded program (tidemark run), whose rows get their sizes
 * and steps from one another. Else as tide_recover. `mem` NULL: default heap. */
TIDE_NODISCARD tide_status tide_log_source_open(const char *path, const tide_hostmem *mem,
                                                tide_log_source **ret_source, tide_error *error);
void tide_log_source_close(tide_log_source *source);

/* The events; valid until the source is closed. */
tide_event_source tide_log_source_events(tide_log_source *source);

/* The document without events and scopes. Its owner may leave out private things before the events
 * are read. How many events were dropped is known after the last of them, and still if they are
 * read again. */
tide_snapshot *tide_log_source_document(tide_log_source *source);

/* What could not be read; whole after the last event and scope. Read again,
 * nothing counts twice. */
const tide_recover_report *tide_log_source_report(const tide_log_source *source);

#ifdef __cplusplus
}
#endif

#endif
