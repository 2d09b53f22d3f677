/* peak_lines.h - the memory of an instant, such as the peak, by the place that allocated it: the
 * one grouping of all commands, whose figures they all print.
 *
 * A block belongs to its line of the program (block_lines.h). A block without one belongs to the
 * frame that represents its stack (a library's line, an operation), to the operation of autograd
 * that made it, or to what is known of it otherwise.
 */
#ifndef TIDE_SNAPSHOT_PEAK_LINES_H
#define TIDE_SNAPSHOT_PEAK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/text/text.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_place_kind {
    TIDE_PLACE_LINE = 0,  /* of the program */
    TIDE_PLACE_FRAME,     /* of a library; no line of the program is known */
    TIDE_PLACE_OPERATION, /* of autograd, by the frame of its node */
    TIDE_PLACE_NODE,      /* of autograd, by name */
    TIDE_PLACE_BEFORE,    /* allocated before the recording */
    TIDE_PLACE_UNKNOWN    /* without a call stack */
} tide_place_kind;

/* What a block is counted as. */
typedef struct tide_place {
    tide_place_kind kind;
    bool is_inferred; /* LINE: of activations freed around the block (inferred_lines.h) */
    uint32_t index;   /* LINE, FRAME, OPERATION: frame; NODE: string; otherwise TIDE_NONE */
} tide_place;

tide_place tide_place_of(const tide_facts *facts, const tide_lifetime *block);

/* Whether the place is a line of source: of the program, or of a library. */
bool tide_place_is_source(const tide_place *place);

/* Adds "LM.forward (c15.py:15)", "NllLossBackward0", "from before the recording", "an unknown
 * line". */
void tide_place_add(const tide_facts *facts, const tide_place *place, tide_text *to);

/* The blocks of one place. */
typedef struct tide_peak_line {
    tide_place place;
    int64_t bytes;          /* whole blocks */
    int64_t backward_bytes; /* of them, allocated by the backward pass */
    int64_t inferred_bytes; /* of them, whose line is inferred */
    int64_t requested_bytes;
    size_t n_blocks;
    uint32_t tensor;        /* string: of names by rule, the one with most bytes; TIDE_NONE */
    int64_t tensor_bytes;   /* of the blocks of that name */
    size_t n_tensor_blocks; /* their number */
    int64_t by_category[TIDE_MAX_CATEGORIES]; /* bytes */
} tide_peak_line;

typedef struct tide_peak_lines {
    const tide_hostmem *mem; /* borrowed */
    tide_peak_line *lines;   /* owned; largest first */
    size_t n_lines, room;
    int64_t bytes;       /* of all */
    int64_t named_bytes; /* of blocks of which a line of the program is known, and a name or an
                            operation of autograd */
    int64_t by_category[TIDE_MAX_CATEGORIES]; /* of all */
} tide_peak_lines;

/* Of the peak. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_peak_lines_init(tide_peak_lines *lines, const tide_facts *facts);
/* Of any blocks, such as those of another instant. The facts need only lines of the program. */
TIDE_NODISCARD tide_status tide_peak_lines_init_of(tide_peak_lines *lines, const tide_facts *facts,
                                                   const tide_lifetime *blocks, size_t n_blocks);
void tide_peak_lines_fini(tide_peak_lines *lines);

#ifdef __cplusplus
}
#endif

#endif
