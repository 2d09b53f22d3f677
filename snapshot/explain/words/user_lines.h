/* user_lines.h - blocks that are alive at an instant, by the line of the program that
 * requested them.
 */
#ifndef TIDE_SNAPSHOT_USER_LINES_H
#define TIDE_SNAPSHOT_USER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "common/text/text.h"
#include "snapshot/analysis/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The blocks of one line. */
typedef struct tide_user_line {
    uint32_t frame; /* as tide_user_frame finds it; TIDE_NONE: without a call stack */
    bool is_older;  /* frame TIDE_NONE: allocated before the recording */
    uint32_t stack; /* of the largest block; TIDE_NONE */
    int64_t bytes;  /* whole blocks */
    int64_t requested_bytes;
    int64_t n_blocks;
    uint64_t largest_bytes; /* of the block with that stack */
} tide_user_line;

typedef struct tide_user_lines {
    const tide_hostmem *mem; /* borrowed */
    tide_user_line *lines;   /* owned; largest first */
    size_t n_lines;
} tide_user_lines;

/* Groups the blocks of a summary's peak. The caller calls fini, also after an error. */
TIDE_NODISCARD tide_status tide_user_lines_init(tide_user_lines *lines,
                                                const tide_snapshot *snapshot,
                                                const tide_summary_peak *peak,
                                                const tide_hostmem *mem);
void tide_user_lines_fini(tide_user_lines *lines);

/* The words for blocks that were alive before the first event. */
const char *tide_user_lines_before(const tide_snapshot *snapshot);

/* "forward (model.py:15)", "(from before the recording)" or "(no call stack)". */
void tide_user_lines_add_text(const tide_snapshot *snapshot, const tide_user_line *line,
                              tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
