/* model.c - the assignment's code as a sequence of operators. A tensor is dropped where
 * Python's last reference to it ends: a temporary after its expression, locals when their function
 * returns, in the order of their first assignment, an argument after its call.
 */
#include "model/eager/internal.h"

/* Names of the tensors that one RMSNorm makes. */
typedef struct norm_names {
    const char *out, *square, *mean, *mean_eps, *rstd, *normed;
} norm_names;

static const norm_names LN1 = {"ln1",          "ln1.square", "ln1.mean",
                               "ln1.mean_eps", "ln1.rstd",   "ln1.normed"};
static const norm_names LN2 = {"ln2",          "ln2.square", "ln2.mean",
                               "ln2.mean_eps", "ln2.rstd",   "ln2.normed"};
static const norm_names LN_FINAL = {"ln_final",          "ln_final.square", "ln_final.mean",
                                    "ln_final.mean_eps", "ln_final.rstd",   "ln_final.normed"};

/* Whether only matrix products read the result. In mixed precision those keep copies of 16 bits
 * instead of it. */
static tide_eager_label kept_in_fp32(const tide_eager *e, const char *name) {
    return tide_precision_is_mixed(e->config.precision) ? tide_eager_passing(name)
                                                        : tide_eager_kept(name);
}

/* weight * (x * rsqrt(mean(x ** 2) + eps)) */
static tide_eager_tensor rms_norm(tide_eager *e, const tide_eager_tensor *x, size_t parameter,
                                  const norm_names *names) {
    tide_eager_tensor square =
        tide_eager_unary(e, TIDE_EAGER_SQUARE, x, tide_eager_passing(names->square));
    tide_eager_tensor mean =
        tide_eager_reduce(e, TIDE_EAGER_MEAN, &square, tide_eager_passing(names->mean));
    tide_eager_drop(e, &square);
    tide_eager_tensor shifted =
        tide_eager_unary(e, TIDE_EAGER_ADD_SCALAR, &mean, tide_eager_passing(names->mean_eps));
    tide_eager_drop(e, &mean);
    tide_eager_tensor rstd =
        tide_eager_unary(e, TIDE_EAGER_RSQRT, &shifted, tide_eager_kept(names->rstd));
    tide_eager_drop(e, &shifted);
    tide_eager_tensor normed =
        tide_eager_binary(e, TIDE_EAGER_MUL, x, &rstd, tide_eager_kept(names->normed));
    tide_eager_tensor out = tide_eager_binary(e, TIDE_EAGER_MUL, &e->values[parameter], &normed,
                                              kept_in_fp32(e, names->out));
    tide_eager_drop(e, &normed);
    tide_eager_drop(e, &rstd);
    return out;
}

/* (B, T, in) -> (B, T, out): an einsum with the weight. */
static tide_eager_tensor linear(tide_eager *e, const tide_eager_tensor *x, size_t parameter,
                                tide_eager_label label) {
    return tide_eager_einsum(e, x, "bsi", &e->values[parameter], "oi", "bso", label);
}

static tide_eager_tensor layer_linear(tide_eager *e, const tide_eager_tensor *x,
                                      tide_layer_parameter which, tide_eager_label label) {
    return linear(e, x, tide_parameter_of_layer((size_t)e->layer, which), label);
}

/* ---- attention ---- */

/* (B, T, C) -> (B, H, T, D): a view. */
static void split_heads(tide_eager *e, tide_eager_tensor *x) {
    static const uint8_t PERMUTATION[] = {0, 2, 1, 3};
    const tide_model_config *m = &e->config.model;
    const size_t sizes[] = {m->batch_size, m->context_length, m->n_heads, m->d_model / m->n_heads};
    tide_eager_shape shape = tide_eager_shape_of(x->shape.n_bytes, 4, sizes);
    tide_eager_tensor split = tide_eager_view(e, x, &shape);
    tide_eager_assign(e, x, tide_eager_permute(e, &split, 4, PERMUTATION));
    tide_eager_drop(e, &split);
}

/* Names of the tensors that RoPE makes from q or k. */
typedef struct rope_names {
    const char *out, *table, *cos_x1, *sin_x2, *first, *sin_x1, *cos_x2, *second;
} rope_names;

static const rope_names ROPE_Q = {"attn.q",        "attn.q.cos_sin",    "attn.q.cos_x1",
                                  "attn.q.sin_x2", "attn.q.rotated_x1", "attn.q.sin_x1",
                                  "attn.q.cos_x2", "attn.q.rotated_x2"};
static const rope_names ROPE_K = {"attn.k",        "attn.k.cos_sin",    "attn.k.cos_x1",
                                  "attn.k.sin_x2", "attn.k.rotated_x1", "attn.k.sin_x1",
                                  "attn.k.cos_x2", "attn.k.rotated_x2"};

/* cos and sin at the positions: edition 2025 gathers them into a new tensor, 2026 slices the table.
 */
static void rope_table(tide_eager *e, const rope_names *names, tide_eager_tensor *ret_cos,
                       tide_eager_tensor *ret_sin) {
    const tide_model_config *m = &e->config.model;
    const size_t half = m->d_model / m->n_heads / 2;
    const size_t sizes[] = {2, m->context_length, half};
    tide_eager_shape shape = tide_eager_shape_of(TIDE_EAGER_FP32, 3, sizes);
    tide_eager_tensor both = e->config.edition == TIDE_EDITION_2025 && e->status == TIDE_OK
                                 ? tide_eager_new(e, &shape, TIDE_ACTIVATION, names->table, "")
                                 : tide_eager_retain(&e->rope);
    *ret_cos = tide_eager_retain(&both);
    ret_cos->shape = tide_eager_shape_of(TIDE_EAGER_FP32, 2, sizes + 1);
    ret_cos->strides[0] = half;
    ret_cos->strides[1] = 1;
    *ret_sin = tide_eager_retain(ret_cos);
    tide_eager_drop(e, &both);
}

/* Rotates pairs of neighbours; the caller keeps x. */
static tide_eager_tensor rope(tide_eager *e, const tide_eager_tensor *x, const rope_names *names) {
    static const uint8_t PERMUTATION[] = {4, 0, 1, 2, 3};
    if (e->status != TIDE_OK) {
        return (tide_eager_tensor){0};
    }
    tide_eager_shape pairs = x->shape;
    pairs.sizes[3] /= 2;
    pairs.sizes[4] = 2;
    pairs.n_dims = 5;
    tide_eager_tensor paired = tide_eager_view(e, x, &pairs);
    tide_eager_tensor moved = tide_eager_permute(e, &paired, 5, PERMUTATION);
    tide_eager_drop(e, &paired);
    tide_eager_tensor parts[2];
    tide_eager_unbind(e, &moved, parts);
    tide_eager_drop(e, &moved);
    tide_eager_tensor cosine;
    tide_eager_tensor sine;
    rope_table(e, names, &cosine, &sine);
    tide_eager_tensor a =
        tide_eager_binary(e, TIDE_EAGER_MUL, &cosine, &parts[0], tide_eager_passing(names->cos_x1));
    tide_eager_tensor b =
        tide_eager_binary(e, TIDE_EAGER_MUL, &sine, &parts[1], tide_eager_passing(names->sin_x2));
    tide_eager_tensor first =
        tide_eager_binary(e, TIDE_EAGER_SUB, &a, &b, tide_eager_passing(names->first));
    tide_eager_drop(e, &a);
    tide_eager_drop(e, &b);
    a = tide_eager_binary(e, TIDE_EAGER_MUL, &sine, &parts[0], tide_eager_passing(names->sin_x1));
    b = tide_eager_binary(e, TIDE_EAGER_MUL, &cosine, &parts[1], tide_eager_passing(names->cos_x2));
    tide_eager_tensor second =
        tide_eager_binary(e, TIDE_EAGER_ADD, &a, &b, tide_eager_passing(names->second));
    tide_eager_drop(e, &a);
    tide_eager_drop(e, &b);
    tide_eager_tensor out = tide_eager_cat(e, &first, &second, kept_in_fp32(e, names->out));
    tide_eager_drop(e, &parts[0]);
    tide_eager_drop(e, &parts[1]);
    tide_eager_drop(e, &cosine);
    tide_eager_drop(e, &sine);
    tide_eager_drop(e, &first);
    tide_eager_drop(e, &second);
    return out;
}

static tide_eager_tensor softmax(tide_eager *e, const tide_eager_tensor *x) {
    tide_eager_tensor indices;
    tide_eager_tensor largest =
        tide_eager_max(e, x, tide_eager_passing("attn.row_max"), "attn.row_argmax", &indices);
    tide_eager_drop(e, &indices);
    tide_eager_tensor shifted =
        tide_eager_binary(e, TIDE_EAGER_SUB, x, &largest, tide_eager_passing("attn.shifted"));
    tide_eager_drop(e, &largest);
    tide_eager_tensor exps =
        tide_eager_unary(e, TIDE_EAGER_EXP, &shifted, tide_eager_kept("attn.exp"));
    tide_eager_tensor sums =
        tide_eager_reduce(e, TIDE_EAGER_SUM, &exps, tide_eager_kept("attn.row_sum"));
    tide_eager_tensor out =
        tide_eager_binary(e, TIDE_EAGER_DIV, &exps, &sums, kept_in_fp32(e, "attn.probs"));
    tide_eager_drop(e, &sums);
    tide_eager_drop(e, &shifted);
    tide_eager_drop(e, &exps);
    return out;
}

static tide_eager_tensor naive_attention(tide_eager *e, const tide_eager_tensor *q,
                                         const tide_eager_tensor *k, const tide_eager_tensor *v,
                                         const tide_eager_tensor *mask) {
    tide_eager_tensor raw =
        tide_eager_einsum(e, q, "bhqd", k, "bhkd", "bhqk", tide_eager_passing("attn.scores"));
    tide_eager_tensor scores =
        tide_eager_unary(e, TIDE_EAGER_DIV_SCALAR, &raw, tide_eager_passing("attn.scaled"));
    tide_eager_drop(e, &raw);
    tide_eager_assign(e, &scores,
                      tide_eager_where(e, mask, &scores, tide_eager_passing("attn.masked")));
    tide_eager_tensor probs = softmax(e, &scores);
    tide_eager_tensor out =
        tide_eager_einsum(e, &probs, "bhqk", v, "bhkd", "bhqd", tide_eager_passing("attn.context"));
    tide_eager_drop(e, &scores);
    tide_eager_drop(e, &probs);
    return out;
}

/* (B, H, T, D) -> (B, T, C) */
static tide_eager_tensor join_heads(tide_eager *e, const tide_eager_tensor *x) {
    static const uint8_t PERMUTATION[] = {0, 2, 1, 3};
    const tide_model_config *m = &e->config.model;
    const size_t sizes[] = {m->batch_size, m->context_length, m->d_model};
    tide_eager_shape shape = tide_eager_shape_of(x->shape.n_bytes, 3, sizes);
    tide_eager_tensor moved = tide_eager_permute(e, x, 4, PERMUTATION);
    tide_eager_tensor out = tide_eager_reshape(e, &moved, &shape, tide_eager_kept("attn.out"));
    tide_eager_drop(e, &moved);
    out.name = "attn.out";
    return out;
}

/* 0 .. T - 1, as int64. */
static tide_eager_tensor positions(tide_eager *e, const char *name) {
    tide_eager_shape shape =
        tide_eager_shape_of(TIDE_EAGER_INT64, 1, &e->config.model.context_length);
    if (e->status != TIDE_OK) {
        return (tide_eager_tensor){0};
    }
    tide_eager_tensor out = tide_eager_new(e, &shape, TIDE_TEMPORARY, name, "");
    tide_eager_log_elements(e, &out, NULL, NULL, "arange");
    return out;
}

static tide_eager_tensor causal_mask(tide_eager *e) {
    const size_t T = e->config.model.context_length;
    tide_eager_shape shape = tide_eager_shape_of(TIDE_EAGER_BOOL, 2, (const size_t[]){T, T});
    if (e->status != TIDE_OK) {
        return (tide_eager_tensor){0};
    }
    tide_eager_tensor mask = tide_eager_new(e, &shape, TIDE_ACTIVATION, "attn.mask", "");
    /* The positions, as a row and as a column. */
    tide_eager_log(e, TIDE_RUN_STRIDED, (uint64_t)T * T + 2 * T * TIDE_EAGER_INT64, (uint64_t)T * T,
                   "compare");
    return mask;
}

static tide_eager_tensor attention(tide_eager *e, const tide_eager_tensor *x) {
    bool is_2025 = e->config.edition == TIDE_EDITION_2025;
    bool is_flash = e->config.attention == TIDE_ATTENTION_FLASH;
    tide_eager_tensor place = {0};
    tide_eager_tensor seq = {0};
    tide_eager_tensor mask = {0};
    tide_eager_enter(e, e->layer, "qkv");
    tide_eager_tensor q = layer_linear(e, x, TIDE_Q_PROJ, tide_eager_passing("attn.q_proj"));
    tide_eager_tensor k = layer_linear(e, x, TIDE_K_PROJ, tide_eager_passing("attn.k_proj"));
    tide_eager_tensor v = layer_linear(e, x, TIDE_V_PROJ, tide_eager_passing("attn.v"));
    split_heads(e, &q);
    split_heads(e, &k);
    split_heads(e, &v);
    tide_eager_enter(e, e->layer, "rope");
    if (is_2025) {
        place = positions(e, "attn.token_positions");
    }
    tide_eager_assign(e, &q, rope(e, &q, &ROPE_Q));
    tide_eager_assign(e, &k, rope(e, &k, &ROPE_K));
    tide_eager_enter(e, e->layer, "attention");
    if (!is_flash) {
        seq = positions(e, "attn.mask_positions");
        mask = causal_mask(e);
    }
    tide_eager_tensor context =
        is_flash ? tide_eager_flash(e, &q, &k, &v) : naive_attention(e, &q, &k, &v, &mask);
    tide_eager_tensor heads = join_heads(e, &context);
    tide_eager_drop(e, &context);
    tide_eager_enter(e, e->layer, "output_proj");
    tide_eager_tensor out =
        layer_linear(e, &heads, TIDE_OUTPUT_PROJ, tide_eager_passing("attn.output_proj"));
    tide_eager_drop(e, &place);
    tide_eager_drop(e, &q);
    tide_eager_drop(e, &k);
    tide_eager_drop(e, &v);
    tide_eager_drop(e, &seq);
    tide_eager_drop(e, &mask);
    tide_eager_drop(e, &heads);
    return out;
}

/* ---- feed-forward and block ---- */

/* w2(silu(w1 x) * (w3 x)) with silu written as x * sigmoid(x). */
static tide_eager_tensor swiglu(tide_eager *e, const tide_eager_tensor *x) {
    tide_eager_enter(e, e->layer, "ffn");
    tide_eager_tensor gate = layer_linear(e, x, TIDE_W1, tide_eager_kept("ffn.gate"));
    tide_eager_tensor sigmoid =
        tide_eager_unary(e, TIDE_EAGER_SIGMOID, &gate, tide_eager_kept("ffn.sigmoid"));
    tide_eager_tensor silu =
        tide_eager_binary(e, TIDE_EAGER_MUL, &gate, &sigmoid, tide_eager_kept("ffn.silu"));
    tide_eager_drop(e, &sigmoid);
    tide_eager_drop(e, &gate);
    tide_eager_tensor up = layer_linear(e, x, TIDE_W3, tide_eager_kept("ffn.up"));
    tide_eager_tensor product =
        tide_eager_binary(e, TIDE_EAGER_MUL, &silu, &up, tide_eager_kept("ffn.product"));
    tide_eager_drop(e, &silu);
    tide_eager_drop(e, &up);
    tide_eager_tensor out = layer_linear(e, &product, TIDE_W2, tide_eager_passing("ffn.down"));
    tide_eager_drop(e, &product);
    return out;
}

tide_eager_tensor tide_eager_block(tide_eager *e, int32_t layer, const tide_eager_tensor *x) {
    tide_eager_enter(e, layer, "ln1");
    tide_eager_tensor normed =
        rms_norm(e, x, tide_parameter_of_layer((size_t)layer, TIDE_LN1), &LN1);
    tide_eager_tensor x_attention = attention(e, &normed);
    tide_eager_drop(e, &normed);
    tide_eager_enter(e, layer, "residual");
    tide_eager_tensor mid =
        tide_eager_binary(e, TIDE_EAGER_ADD, x, &x_attention, tide_eager_kept("mid"));
    tide_eager_enter(e, layer, "ln2");
    normed = rms_norm(e, &mid, tide_parameter_of_layer((size_t)layer, TIDE_LN2), &LN2);
    tide_eager_tensor x_ffn = swiglu(e, &normed);
    tide_eager_drop(e, &normed);
    tide_eager_enter(e, layer, "residual");
    tide_eager_tensor out =
        tide_eager_binary(e, TIDE_EAGER_ADD, &mid, &x_ffn, tide_eager_kept("out"));
    tide_eager_drop(e, &x_attention);
    tide_eager_drop(e, &mid);
    tide_eager_drop(e, &x_ffn);
    return out;
}

/* ---- the model ---- */

void tide_eager_model_forward(tide_eager *e) {
    const tide_model_config *m = &e->config.model;
    bool is_2025 = e->config.edition == TIDE_EDITION_2025;
    bool recomputes = e->config.recompute == TIDE_RECOMPUTE_BLOCK && e->records;
    e->autocast = tide_precision_is_mixed(e->config.precision);
    tide_eager_enter(e, -1, "embedding");
    tide_eager_tensor x = tide_eager_index(e, &e->values[tide_parameter_token_embeddings()],
                                           &e->tokens, is_2025, tide_eager_kept("embedded"));
    /* In runs of 2026 without a graph one more (B, T, C) array stays alive throughout. */
    tide_eager_tensor embedded = is_2025 ? (tide_eager_tensor){0} : tide_eager_retain(&x);
    for (int32_t layer = 0; layer < (int32_t)m->n_layers; layer++) {
        tide_eager_assign(e, &x,
                          recomputes ? tide_eager_checkpoint(e, layer, &x)
                                     : tide_eager_block(e, layer, &x));
    }
    tide_eager_enter(e, -1, "ln_final");
    tide_eager_assign(e, &x, rms_norm(e, &x, tide_parameter_ln_final(m), &LN_FINAL));
    if (!m->no_head) {
        tide_eager_enter(e, -1, "lm_head");
        tide_eager_assign(e, &x,
                          linear(e, &x, tide_parameter_lm_head(m), tide_eager_kept("logits")));
    }
    tide_eager_drop(e, &embedded);
    tide_eager_assign(e, &e->logits, x);
}

/* mean(gather(-log_softmax(logits), targets)) */
void tide_eager_model_loss(tide_eager *e) {
    tide_eager_enter(e, -1, "loss");
    tide_eager_tensor indices;
    tide_eager_tensor largest = tide_eager_max(e, &e->logits, tide_eager_passing("loss.row_max"),
                                               "loss.row_argmax", &indices);
    tide_eager_drop(e, &indices);
    tide_eager_tensor shifted = tide_eager_binary(e, TIDE_EAGER_SUB, &e->logits, &largest,
                                                  tide_eager_passing("loss.shifted"));
    tide_eager_tensor exps =
        tide_eager_unary(e, TIDE_EAGER_EXP, &shifted, tide_eager_kept("loss.exp"));
    tide_eager_tensor sums =
        tide_eager_reduce(e, TIDE_EAGER_SUM, &exps, tide_eager_kept("loss.row_sum"));
    tide_eager_drop(e, &exps);
    tide_eager_tensor logs =
        tide_eager_unary(e, TIDE_EAGER_LOG, &sums, tide_eager_passing("loss.row_log_sum"));
    tide_eager_drop(e, &sums);
    tide_eager_tensor log_probs =
        tide_eager_binary(e, TIDE_EAGER_SUB, &shifted, &logs, tide_eager_passing("loss.log_probs"));
    tide_eager_drop(e, &logs);
    tide_eager_drop(e, &shifted);
    tide_eager_drop(e, &largest);
    tide_eager_tensor negated =
        tide_eager_unary(e, TIDE_EAGER_NEG, &log_probs, tide_eager_kept("loss.nll"));
    tide_eager_drop(e, &log_probs);
    tide_eager_tensor picked =
        tide_eager_gather(e, &negated, &e->targets, tide_eager_passing("loss.row_losses"));
    tide_eager_tensor loss = tide_eager_mean_all(e, &picked, tide_eager_kept("loss"));
    tide_eager_drop(e, &picked);
    tide_eager_drop(e, &negated);
    tide_eager_assign(e, &e->loss, loss);
}

void tide_eager_end_autocast(tide_eager *e) {
    e->autocast = false;
    for (size_t i = 0; i < e->n_parameters; i++) {
        tide_eager_drop(e, &e->casts[i]);
    }
}
