/* log_text.h - reads a log for what it says about memory: the first message of a request that found
 * no memory, the call stack before it, and printed statistics.
 */
#ifndef TIDE_SNAPSHOT_LOG_TEXT_H
#define TIDE_SNAPSHOT_LOG_TEXT_H

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/format/window.h"
#include "snapshot/kinds/oom_text.h"
#include "snapshot/kinds/statistics_text.h"
#include "snapshot/kinds/traceback.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_log_text {
    tide_oom_text oom; /* the first message with figures, else the first; form NONE: no message */
    tide_traceback trace; /* printed before the message */
    bool has_more;        /* other messages follow, with other texts */
    tide_statistics_text statistics;
} tide_log_text;

/* Reads all lines of `source`. */
TIDE_NODISCARD tide_status tide_log_text_read(const tide_source *source, const tide_hostmem *mem,
                                              tide_log_text *ret_log, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
