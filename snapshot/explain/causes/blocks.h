/* blocks.h - the blocks at the peak that a pattern is about, and what their call stacks and
 * scopes show: shared by the patterns of what the peak is made of.
 */
#ifndef TIDE_SNAPSHOT_CAUSES_BLOCKS_H
#define TIDE_SNAPSHOT_CAUSES_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/autograd_mode.h"
#include "snapshot/explain/causes/causes_friend.h"

/* A set of blocks, by birth. */
typedef struct tide_cause_blocks {
    const tide_hostmem *mem; /* borrowed */
    uint32_t *blocks;        /* owned; indices of lifetimes */
    size_t n_blocks;
    int64_t bytes;
} tide_cause_blocks;

typedef bool tide_cause_test(const tide_facts *facts, const tide_lifetime *block);

/* The blocks alive at the peak that pass the test. The caller calls fini, also after a failure. */
TIDE_NODISCARD tide_status tide_cause_blocks_init(tide_cause_blocks *of, const tide_facts *facts,
                                                  tide_cause_test *test);
void tide_cause_blocks_fini(tide_cause_blocks *of);

/* Whether the set holds at least this share of the peak. */
bool tide_cause_blocks_reach(const tide_cause_blocks *of, const tide_facts *facts, double share);

/* The deepest line of the program below which 85 % of the bytes were allocated; TIDE_NONE. */
TIDE_NODISCARD tide_status tide_cause_blocks_line(const tide_cause_blocks *of,
                                                  const tide_facts *facts, uint32_t *ret_node);

/* Bytes of the blocks of `of` that have a twin: a block of the same size in `others`, each of
 * which counts once. */
TIDE_NODISCARD tide_status tide_cause_blocks_twins(const tide_cause_blocks *of,
                                                   const tide_cause_blocks *others,
                                                   const tide_facts *facts, int64_t *ret_bytes);

/* A size of the blocks: the one that most of them have, the larger one of equals. */
TIDE_NODISCARD tide_status tide_cause_blocks_common_size(const tide_cause_blocks *of,
                                                         const tide_facts *facts,
                                                         uint64_t *ret_bytes, size_t *ret_n);

/* Parameters, gradients, optimizer state, buffers and inputs, by their category; and whatever a
 * constructor, a conversion or a load of a module made. */
bool tide_cause_is_state(const tide_facts *facts, const tide_lifetime *block);

/* Weights: parameters, and what constructors and conversions of modules made. */
bool tide_cause_is_weight(const tide_facts *facts, const tide_lifetime *block);

/* Buckets of DistributedDataParallel. */
bool tide_cause_is_bucket(const tide_facts *facts, const tide_lifetime *block);

/* Whether a layer of torch.nn that the program's innermost line calls made it, not an operator. */
bool tide_cause_is_of_layer(const tide_facts *facts, uint32_t stack);

/* Whether DataParallel gathered the block from several cards. */
bool tide_cause_is_gathered(const tide_facts *facts, const tide_lifetime *block);

/* The dimensions of the shape in the block's name, as in "lp [32, 349, 23, 4233] float32"; 0:
 * unknown. */
size_t tide_cause_dimensions(const tide_facts *facts, const tide_lifetime *block);

/* Whether autograd recorded where the block was made; TIDE_AUTOGRAD_UNKNOWN. */
uint8_t tide_cause_mode(const tide_facts *facts, const tide_lifetime *block);

/* Whether the block is in a private pool. */
bool tide_cause_is_pooled(const tide_facts *facts, const tide_lifetime *block);

/* Whether a node of autograd whose name contains `part` made the block. */
bool tide_cause_is_node(const tide_facts *facts, const tide_lifetime *block, const char *part);

/* The name of the node of autograd that made the block; "": unknown. */
const char *tide_cause_node(const tide_facts *facts, const tide_lifetime *block);

/* The program's line that called the model in which the request failed; TIDE_NONE: it failed
 * outside of models, or none failed. */
uint32_t tide_cause_call_of_model(const tide_facts *facts);

/* The function of a node of the stack tree without its class: "forward". */
const char *tide_cause_function(const tide_facts *facts, uint32_t node);

/* Whether an operator of that name made the tensor: "safe_softmax [32, 12, 64, 64] float32". */
bool tide_cause_is_made_by(const tide_facts *facts, const tide_lifetime *block, const char *name);

/* Whether one of the `n` innermost Python frames of a stack has this function. */
bool tide_cause_is_called(const tide_facts *facts, uint32_t stack, const char *function, size_t n);

/* Whether the function of a node has a word for attention in its name. */
bool tide_cause_is_attention(const tide_facts *facts, uint32_t node);

/* Whether both nodes are lines of one function of one file. */
bool tide_cause_is_same_function(const tide_facts *facts, uint32_t a, uint32_t b);

/* "13.91 GiB of the peak (82 %)". */
void tide_cause_add_bytes(const tide_facts *facts, int64_t bytes, tide_text *to);

/* A cause of the tier of the peak that holds these bytes. */
tide_cause tide_cause_of_peak(const tide_facts *facts, const char *id, int64_t bytes);

#endif
