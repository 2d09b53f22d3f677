/* causes_friend.h - how a pattern adds its cause: shared by the files of patterns. */
#ifndef TIDE_SNAPSHOT_CAUSES_FRIEND_H
#define TIDE_SNAPSHOT_CAUSES_FRIEND_H

#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/explain/causes/causes.h"

enum { TIDE_CAUSE_TEXT = 2048, TIDE_PLACE_TEXT = 384, TIDE_SHARE_TEXT = 16 };

/* A pattern: adds at most a few causes; TIDE_OK without one if it does not fire. */
typedef tide_status tide_cause_rule(const tide_facts *facts, tide_causes *to);

/* Adds a copy of a cause: words, cure and cost are copied into the arena; id is borrowed. */
TIDE_NODISCARD tide_status tide_causes_add(tide_causes *to, const tide_cause *cause);

/* The line of a node of the stack tree: "validate (c01.py:14)"; "a line that is not known" for
 * TIDE_NONE. Returns `text`. */
const char *tide_cause_place(const tide_facts *facts, uint32_t node, char text[TIDE_PLACE_TEXT]);

/* The same with the text of the line, if it was recorded, and then `after`:
 * "validate (c01.py:14), `losses.append(loss)`". Returns `text`. */
const char *tide_cause_quoted(const tide_facts *facts, uint32_t node, const char *after,
                              char text[TIDE_PLACE_TEXT]);

/* "71 %". */
const char *tide_cause_share(double share, char text[TIDE_SHARE_TEXT]);

/* At the first failed request: bytes of the device that neither the allocator nor a known library
 * holds, if they are much and the request would have fitted without them; else 0. */
int64_t tide_cause_others_bytes(const tide_facts *facts);

/* Whether the device had much more free memory than the failed request needed: a limit of the
 * process refused it. */
bool tide_cause_is_limit(const tide_facts *facts);

/* A growth without its words. */
tide_cause tide_cause_of_growth(const tide_facts *facts, const tide_growth_fact *fact,
                                const char *id);

/* holder.c. Adds who holds the bytes of a growth to its words, if the recording has it. */
TIDE_NODISCARD tide_status tide_cause_name_holder(const tide_facts *facts, tide_causes *of,
                                                  tide_cause *cause);

/* Bytes of the largest block that a growth keeps. */
int64_t tide_growth_largest(const tide_facts *facts, const tide_growth_fact *fact);

/* garbage.c. A loop that filled the device with blocks that were never released. */
TIDE_NODISCARD tide_status tide_cause_filled(const tide_facts *facts, const tide_growth_fact *fact,
                                             tide_causes *to);

/* summed.c. Adds `before` and the line of the growth's loop that adds to a list, by its text,
 * unless the growth names it already. */
void tide_cause_add_collecting_line(const tide_facts *facts, const tide_growth_fact *fact,
                                    const char *before, tide_text *to);

/* weight_copies.c. Whether the text of a line copies the weights of a model. */
bool tide_cause_copies_state(const tide_facts *facts, uint32_t line);

/* The patterns, by what they look at. */
tide_cause_rule tide_cause_card;          /* another owner, a limit, sheer size, weights */
tide_cause_rule tide_cause_exception;     /* an exception that holds the failed call */
tide_cause_rule tide_cause_process;       /* workers and ranks */
tide_cause_rule tide_cause_growth;        /* loops */
tide_cause_rule tide_cause_garbage;       /* reference cycles; after growth, which may name it */
tide_cause_rule tide_cause_fragmentation; /* free memory in pieces */
tide_cause_rule tide_cause_rebuilt;       /* an old model beside the new one */
tide_cause_rule tide_cause_reserved;      /* side streams, CUDA graphs, an emptied cache */
tide_cause_rule tide_cause_results;       /* only if nothing else fired, as are the next four */
tide_cause_rule tide_cause_equals;
tide_cause_rule tide_cause_data;
tide_cause_rule tide_cause_kv_cache;
tide_cause_rule tide_cause_activations;
tide_cause_rule tide_cause_sheer;
tide_cause_rule tide_cause_models; /* before card, whose weights may be theirs */
tide_cause_rule tide_cause_spare;
tide_cause_rule tide_cause_loaded;
tide_cause_rule tide_cause_untrained;    /* after growth, which may name the graph */
tide_cause_rule tide_cause_second_order; /* after growth, which may name the graphs */
tide_cause_rule tide_cause_summed;       /* after second_order, whose graphs no sum keeps */
tide_cause_rule tide_cause_collected;    /* after growth, which may name them */
tide_cause_rule tide_cause_overlap;      /* after growth, which may name the results */
tide_cause_rule tide_cause_one_hot;
tide_cause_rule tide_cause_jacobian;
tide_cause_rule tide_cause_logits;
tide_cause_rule tide_cause_attention_weights;
tide_cause_rule tide_cause_attention_by_hand;
tide_cause_rule tide_cause_blow_up; /* after logits and attention_by_hand, which it repeats */
tide_cause_rule tide_cause_foreach;
tide_cause_rule tide_cause_ddp;
tide_cause_rule tide_cause_autocast;
tide_cause_rule tide_cause_lbfgs;
tide_cause_rule tide_cause_dense;
tide_cause_rule tide_cause_unused_gradients;
tide_cause_rule tide_cause_recomputed;
tide_cause_rule tide_cause_double;
tide_cause_rule tide_cause_copy;          /* after growth, which may name the copies */
tide_cause_rule tide_cause_weight_copies; /* after growth and copy, which may name them */
tide_cause_rule tide_cause_gradients_in_forward;

#endif
