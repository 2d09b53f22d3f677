/* line_text.h - what the text of a line shows about the tensors that it makes: shared by the
 * patterns of large tensors.
 */
#ifndef TIDE_SNAPSHOT_CAUSES_LINE_TEXT_H
#define TIDE_SNAPSHOT_CAUSES_LINE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/explain/facts.h"

typedef enum tide_line_kind {
    TIDE_LINE_UNKNOWN = 0, /* its text was not recorded in full */
    TIDE_LINE_COMPUTES,
    TIDE_LINE_CONVERTS, /* or moves: `.float()`, `.to(..)` */
    TIDE_LINE_MAKES     /* a tensor that needs no input: `torch.zeros(..)` */
} tide_line_kind;

/* Of a node of the stack tree; TIDE_NONE: unknown. */
tide_line_kind tide_cause_line_kind(const tide_facts *facts, uint32_t node);

/* Whether its text was recorded and contains `part`. */
bool tide_cause_line_has(const tide_facts *facts, uint32_t node, const char *part);

/* Whether its text pairs, broadcasts or gathers: `x[:, None] - x[None]`, `x[edges[0]]`. */
bool tide_cause_line_expands(const tide_facts *facts, uint32_t node);

/* Whether its text adds to a list or a sum, and neither a number nor a tensor of the host:
 * `losses.append(loss)`, not `losses.append(loss.item())`. */
bool tide_cause_line_collects(const tide_facts *facts, uint32_t node);

/* Whether its text has a product of matrices. */
bool tide_cause_line_multiplies(const tide_facts *facts, uint32_t node);

/* Whether its text subtracts rows of pairs: `x[:, None] - y`, `x.unsqueeze(1) - y.unsqueeze(0)`. */
bool tide_cause_line_subtracts_pairs(const tide_facts *facts, uint32_t node);

#endif
