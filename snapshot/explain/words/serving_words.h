/* serving_words.h - sentences about the caches of servers of language models and about XLA's
 * figures. `tidemark run`, `explain` and the page print the same.
 */
#ifndef TIDE_SNAPSHOT_SERVING_WORDS_H
#define TIDE_SNAPSHOT_SERVING_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/text/text.h"
#include "snapshot/document/serving.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "The KV cache of vLLM has 58.07 GiB: 475,616 tokens by its own count; a single request may have
 * up to 131,072 tokens (max_model_len), and 3.63 such requests fit together." `n_cards` have equal
 * ones. Nothing for a cache that is too small. */
void tide_serving_words_add_pool(const tide_snapshot_kv_pool *row, size_t n_cards, tide_text *to);

/* Ranks of one server have equal pools, each on its card. */
bool tide_serving_words_are_equal(const tide_snapshot_kv_pool *row,
                                  const tide_snapshot_kv_pool *other);

/* What ended a program, "the KV cache of vLLM is too small: ..." or "XLA found no room for ...".
 * Returns false, and adds nothing, if neither did. `to` may be NULL. */
bool tide_serving_words_add_refusal(const tide_snapshot_kv_pool *pools, size_t n_pools,
                                    const tide_snapshot_xla *xla, size_t n_xla, tide_text *to);

/* What XLA used of a card, by row i: "XLA used up to 2.72 GiB at once by its own count, of a pool
 * of up to 59.32 GiB; its largest compiled function needs 2.72 GiB." Nothing for a row of arrays,
 * one of several cards that was not used, and a card without a count if an earlier row has the
 * function. */
void tide_serving_words_add_card(const tide_snapshot_xla *rows, size_t n, size_t i, tide_text *to);

/* "JAX held at the end: 1.00 GiB in 8 arrays of main (train.py:10)." Nothing without arrays. */
void tide_serving_words_add_arrays(const tide_snapshot_xla *rows, size_t n, tide_text *to);

/* What the flags that a run adds for a virtual card switched off; nothing if the program's own
 * flags replaced them. */
void tide_serving_words_add_flags(const tide_snapshot_xla *rows, size_t n, tide_text *to);

#ifdef __cplusplus
}
#endif

#endif
