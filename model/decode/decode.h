/* decode.h - a language model that generates tokens on a device: prefill of the prompts, then pass
 * after pass over one token of each sequence, with a cache of keys and values.
 *
 *   x = embedding of the tokens
 *   each layer: q k v = norm(x) Wqkv^T; q and k rotated; k and v into the cache;
 *               x += attention over the cache Wo^T
 *               x += (silu(norm(x) W1^T) * (norm(x) W3^T)) W2^T, or the same of the A experts with
 *               the largest scores, weighted by the softmax of these A scores
 *   next token = the largest of norm(x of the last token) Whead^T
 *
 * Everything on the device goes through the cache, with a name and a category: weights and scales
 * are parameters; the cache of keys and values ("layers.N.k_cache", "layers.N.v_cache") has the
 * category of its own kind, TIDE_KV_CACHE, and lives as long as the model. Order of calls: create,
 * setup, then any number of generate. After a failure only destroy may be called.
 */
#ifndef TIDE_MODEL_DECODE_DECODE_H
#define TIDE_MODEL_DECODE_DECODE_H

#include "allocator/cache.h"
#include "common/status.h"
#include "model/decode/shape.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_decode tide_decode;

/* Cache and recorder (NULL: no scopes) are borrowed and outlive the model. TIDE_INVALID, TIDE_LIMIT
 * as for tide_decode_check. TIDE_UNSUPPORTED on a device that computes but not this model. The
 * caller destroys the model. */
TIDE_NODISCARD tide_status tide_decode_create(const tide_decode_config *config, tide_cache *cache,
                                              tide_recorder *recorder, tide_decode **ret_decode,
                                              tide_error *error);
void tide_decode_destroy(tide_decode *decode);
/* Weights, the cache of keys and values, tokens and the table of RoPE, filled from the seed. */
TIDE_NODISCARD tide_status tide_decode_setup(tide_decode *decode, tide_error *error);
/* Prefill and N - 1 passes: N new tokens of each sequence. */
TIDE_NODISCARD tide_status tide_decode_generate(tide_decode *decode, tide_error *error);

/* What computes, for people, on a device that computes. Valid as long as the device. */
const char *tide_decode_computed_by(const tide_decode *decode);

/* (B, P + N) int32: prompts and generated tokens. Valid until the model is destroyed. */
const tide_tensor *tide_decode_tokens(const tide_decode *decode);

#ifdef __cplusplus
}
#endif

#endif
