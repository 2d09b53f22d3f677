/* pieces.h - why free memory is in pieces: shared by the patterns of a failed request and of the
 * reserved peak.
 */
#ifndef TIDE_SNAPSHOT_CAUSES_PIECES_H
#define TIDE_SNAPSHOT_CAUSES_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/explain/causes/causes_friend.h"

/* The blocks that keep large, nearly empty segments from other requests and from the device. */
typedef struct tide_stayers {
    size_t n;
    int64_t free_bytes; /* in the segments of these */
    uint32_t line;      /* node of the stack tree that made the most of them; TIDE_NONE */
    size_t n_of_line;   /* blocks that it made */
} tide_stayers;

/* Why the sizes of tensors change from pass to pass. */
typedef enum tide_pieces_change {
    TIDE_PIECES_SAME = 0,
    TIDE_PIECES_VARY,  /* most bytes of forward passes come from places whose sizes vary */
    TIDE_PIECES_LONGER /* the same, and most of these bytes are of places where each tensor is a
                          little longer than the one before, without a backward pass: a cache */
} tide_pieces_change;

/* Looks at the blocks until row `before`. */
TIDE_NODISCARD tide_status tide_pieces_find_change(const tide_facts *facts, int64_t before,
                                                   tide_pieces_change *ret);

/* " The sizes of the same tensors change from pass to pass, .." */
void tide_pieces_add_words(tide_pieces_change change, tide_text *to);

/* The cure of sizes that change, and its cost. */
const char *tide_pieces_cure(tide_pieces_change change);
#define TIDE_PIECES_COST "padding computes more"

/* The blocks after a row that hold segments which are more than half free. */
TIDE_NODISCARD tide_status tide_stayers_find(const tide_facts *facts, int64_t event,
                                             tide_stayers *ret);

/* Whether most of the free bytes are in their segments. */
bool tide_stayers_hold(const tide_stayers *of, int64_t free_bytes);

/* " 33 blocks, 32 of them from step (a.py:9), stay alive in large segments, .." */
void tide_stayers_add_words(const tide_stayers *of, const tide_facts *facts, tide_text *to);

#endif
