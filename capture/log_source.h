/* log_source.h - the events of a log file one after another, for reports of recordings that are
 * larger than memory.
 *
 * The result is that of tide_recover on the same file (capture/recover.h), and again the file is
 * untrusted. Names, call stacks, live blocks and a few thousand rows are in memory; events and
 * scopes are not. Only two things may differ from a recovery: the number of a call stack, because
 * stacks without an event are also counted, and the begin of a damaged scope.
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

/* TIDE_UNSUPPORTED without a message if the log can only be read as a whole, because a process
 * still writes it, or because it is that of a recorded program (tidemark run), whose rows get their
 * sizes and steps from one another. Otherwise like tide_recover. `mem` NULL: default heap. */
TIDE_NODISCARD tide_status tide_log_source_open(const char *path, const tide_hostmem *mem,
                                                tide_log_source **ret_source, tide_error *error);
void tide_log_source_close(tide_log_source *source);

/* The events; valid until the source is closed. */
tide_event_source tide_log_source_events(tide_log_source *source);

/* The document without events and scopes. Its owner may remove private data before the events are
 * read. The number of dropped events is known after the last event, and stays known if they are
 * read again. */
tide_snapshot *tide_log_source_document(tide_log_source *source);

/* The losses; complete after the last event and scope. A second reading counts nothing twice. */
const tide_recover_report *tide_log_source_report(const tide_log_source *source);

#ifdef __cplusplus
}
#endif

#endif
