/* eager_model.c - the assignment's code as a sequence of operators. A tensor is dropped where
 * Python's last reference to it ends: a temporary after its expression, locals when their function
 * returns, in the order of their first assignment, an argument after its call.
 */
#include "model/eager/internal.h"

/* Names of what one RMSNorm makes. */
typedef struct norm_names {
    const char *out, *square, *mean, *mean_eps, *rstd, *normed;
} norm_names;

static const norm_names LN1 = {"ln1",          "ln1.square", "ln1.mean",
                               "ln1.mean_eps", "ln1.rstd",   "ln1.normed"};
static const norm_names LN2 = {"ln2",          "ln2.square", "ln2.mean",
                               "ln2.mean_eps", "ln2.rstd",   "ln2.normed"};
static const norm_names LN_FINAL = {"ln_final",          "ln_final.square", "ln_final.mean",
                                    "ln_final.mean_eps", "ln_final.rstd",   "ln_final.normed"};

static bool is_mixed(const tide_eager *e) {
    return e->config.precision == TIDE_PRECISION_BF16_MIXED;
}

/* Read by matrix products only: in mixed precision they keep bf16 copies instead. */
static eager_label kept_in_fp32(const tide_eager *e, const char *name) {
    return is_mixed(e) ? eager_passing(name) : eager_kept(name);
}

/* weight * (x * rsqrt(mean(x ** 2) + eps)) */
static eager_tensor rms_norm(tide_eager *e, const eager_tensor *x, size_t parameter,
                             const norm_names *names) {
    eager_tensor square = eager_unary(e, EAGER_SQUARE, x, eager_passing(names->square));
    eager_tensor mean = eager_reduce(e, EAGER_MEAN, &square, eager_passing(names->mean));
    eager_drop(e, &square);
    eager_tensor shifted = eager_unary(e, EAGER_ADD_SCALAR, &mean, eager_passing(names->mean_eps));
    eager_drop(e, &mean);
    eager_tensor rstd = eager_unary(e, EAGER_RSQRT, &shifted, eager_kept(names->rstd));
    eager_drop(e, &shifted);
    eager_tensor normed = eager_binary(e, EAGER_MUL, x, &rstd, eager_kept(names->normed));
    eager_tensor out =
        eager_binary(e, EAGER_MUL, &e->values[parameter], &normed, kept_in_fp32(e, names->out));
    eager_drop(e, &normed);
    eager_drop(e, &rstd);
    return out;
}

/* (B, T, in) -> (B, T, out): an einsum with the weight. */
static eager_tensor linear(tide_eager *e, const eager_tensor *x, size_t parameter,
                           eager_label label) {
    return eager_einsum(e, x, "bsi", &e->values[parameter], "oi", "bso", label);
}

static eager_tensor layer_linear(tide_eager *e, const eager_tensor *x, tide_layer_parameter which,
                                 eager_label label) {
    return linear(e, x, tide_parameter_of_layer((size_t)e->layer, which), label);
}

/* ---- attention ---- */

/* (B, T, C) -> (B, H, T, D): a view. */
static void split_heads(tide_eager *e, eager_tensor *x) {
    static const uint8_t PERMUTATION[] = {0, 2, 1, 3};
    const tide_model_config *m = &e->config.model;
    const size_t sizes[] = {m->batch_size, m->context_length, m->n_heads, m->d_model / m->n_heads};
    eager_shape shape = eager_shape_of(x->shape.n_bytes, 4, sizes);
    eager_tensor split = eager_view(e, x, &shape);
    eager_assign(e, x, eager_permute(e, &split, 4, PERMUTATION));
    eager_drop(e, &split);
}

/* Names of what RoPE makes of q or k. */
typedef struct rope_names {
    const char *out, *table, *cos_x1, *sin_x2, *first, *sin_x1, *cos_x2, *second;
} rope_names;

static const rope_names ROPE_Q = {"attn.q",        "attn.q.cos_sin",    "attn.q.cos_x1",
                                  "attn.q.sin_x2", "attn.q.rotated_x1", "attn.q.sin_x1",
                                  "attn.q.cos_x2", "attn.q.rotated_x2"};
static const rope_names ROPE_K = {"attn.k",        "attn.k.cos_sin",    "attn.k.cos_x1",
                                  "attn.k.sin_x2", "attn.k.rotated_x1", "attn.k.sin_x1",
                                  "attn.k.cos_x2", "attn.k.rotated_x2"};

/* cos and sin at the positions: 2025 gathers them into a new tensor, 2026 slices the table. */
static void rope_table(tide_eager *e, const rope_names *names, eager_tensor *ret_cos,
                       eager_tensor *ret_sin) {
    const tide_model_config *m = &e->config.model;
    const size_t half = m->d_model / m->n_heads / 2;
    const size_t sizes[] = {2, m->context_length, half};
    eager_shape shape = eager_shape_of(EAGER_FP32, 3, sizes);
    eager_tensor both = e->config.edition == TIDE_EDITION_2025 && e->status == TIDE_OK
                            ? eager_new(e, &shape, TIDE_ACTIVATION, names->table, "")
                            : eager_retain(&e->rope);
    *ret_cos = eager_retain(&both);
    ret_cos->shape = eager_shape_of(EAGER_FP32, 2, sizes + 1);
    ret_cos->strides[0] = half;
    ret_cos->strides[1] = 1;
    *ret_sin = eager_retain(ret_cos);
    eager_drop(e, &both);
}

/* Pairs of neighbours rotated; x stays the caller's. */
static eager_tensor rope(tide_eager *e, const eager_tensor *x, const rope_names *names) {
    static const uint8_t PERMUTATION[] = {4, 0, 1, 2, 3};
    if (e->status != TIDE_OK) {
        return (eager_tensor){0};
    }
    eager_shape pairs = x->shape;
    pairs.sizes[3] /= 2;
    pairs.sizes[4] = 2;
    pairs.n_dims = 5;
    eager_tensor paired = eager_view(e, x, &pairs);
    eager_tensor moved = eager_permute(e, &paired, 5, PERMUTATION);
    eager_drop(e, &paired);
    eager_tensor parts[2];
    eager_unbind(e, &moved, parts);
    eager_drop(e, &moved);
    eager_tensor cosine;
    eager_tensor sine;
    rope_table(e, names, &cosine, &sine);
    eager_tensor a = eager_binary(e, EAGER_MUL, &cosine, &parts[0], eager_passing(names->cos_x1));
    eager_tensor b = eager_binary(e, EAGER_MUL, &sine, &parts[1], eager_passing(names->sin_x2));
    eager_tensor first = eager_binary(e, EAGER_SUB, &a, &b, eager_passing(names->first));
    eager_drop(e, &a);
    eager_drop(e, &b);
    a = eager_binary(e, EAGER_MUL, &sine, &parts[0], eager_passing(names->sin_x1));
    b = eager_binary(e, EAGER_MUL, &cosine, &parts[1], eager_passing(names->cos_x2));
    eager_tensor second = eager_binary(e, EAGER_ADD, &a, &b, eager_passing(names->second));
    eager_drop(e, &a);
    eager_drop(e, &b);
    eager_tensor out = eager_cat(e, &first, &second, kept_in_fp32(e, names->out));
    eager_drop(e, &parts[0]);
    eager_drop(e, &parts[1]);
    eager_drop(e, &cosine);
    eager_drop(e, &sine);
    eager_drop(e, &first);
    eager_drop(e, &second);
    return out;
}

static eager_tensor softmax(tide_eager *e, const eager_tensor *x) {
    eager_tensor indices;
    eager_tensor largest =
        eager_max(e, x, eager_passing("attn.row_max"), "attn.row_argmax", &indices);
    eager_drop(e, &indices);
    eager_tensor shifted = eager_binary(e, EAGER_SUB, x, &largest, eager_passing("attn.shifted"));
    eager_drop(e, &largest);
    eager_tensor exps = eager_unary(e, EAGER_EXP, &shifted, eager_kept("attn.exp"));
    eager_tensor sums = eager_reduce(e, EAGER_SUM, &exps, eager_kept("attn.row_sum"));
    eager_tensor out = eager_binary(e, EAGER_DIV, &exps, &sums, kept_in_fp32(e, "attn.probs"));
    eager_drop(e, &sums);
    eager_drop(e, &shifted);
    eager_drop(e, &exps);
    return out;
}

static eager_tensor naive_attention(tide_eager *e, const eager_tensor *q, const eager_tensor *k,
                                    const eager_tensor *v, const eager_tensor *mask) {
    eager_tensor raw = eager_einsum(e, q, "bhqd", k, "bhkd", "bhqk", eager_passing("attn.scores"));
    eager_tensor scores = eager_unary(e, EAGER_DIV_SCALAR, &raw, eager_passing("attn.scaled"));
    eager_drop(e, &raw);
    eager_assign(e, &scores, eager_where(e, mask, &scores, eager_passing("attn.masked")));
    eager_tensor probs = softmax(e, &scores);
    eager_tensor out =
        eager_einsum(e, &probs, "bhqk", v, "bhkd", "bhqd", eager_passing("attn.context"));
    eager_drop(e, &scores);
    eager_drop(e, &probs);
    return out;
}

/* (B, H, T, D) -> (B, T, C) */
static eager_tensor join_heads(tide_eager *e, const eager_tensor *x) {
    static const uint8_t PERMUTATION[] = {0, 2, 1, 3};
    const tide_model_config *m = &e->config.model;
    const size_t sizes[] = {m->batch_size, m->context_length, m->d_model};
    eager_shape shape = eager_shape_of(x->shape.n_bytes, 3, sizes);
    eager_tensor moved = eager_permute(e, x, 4, PERMUTATION);
    eager_tensor out = eager_reshape(e, &moved, &shape, eager_kept("attn.out"));
    eager_drop(e, &moved);
    out.name = "attn.out";
    return out;
}

/* 0 .. T - 1, as int64. */
static eager_tensor positions(tide_eager *e, const char *name) {
    eager_shape shape = eager_shape_of(EAGER_INT64, 1, &e->config.model.context_length);
    return e->status == TIDE_OK ? eager_new(e, &shape, TIDE_TEMPORARY, name, "")
                                : (eager_tensor){0};
}

static eager_tensor causal_mask(tide_eager *e) {
    const size_t T = e->config.model.context_length;
    eager_shape shape = eager_shape_of(EAGER_BOOL, 2, (const size_t[]){T, T});
    return e->status == TIDE_OK ? eager_new(e, &shape, TIDE_ACTIVATION, "attn.mask", "")
                                : (eager_tensor){0};
}

static eager_tensor attention(tide_eager *e, const eager_tensor *x) {
    bool is_2025 = e->config.edition == TIDE_EDITION_2025;
    bool is_flash = e->config.attention == TIDE_ATTENTION_FLASH;
    eager_tensor place = {0};
    eager_tensor seq = {0};
    eager_tensor mask = {0};
    eager_enter(e, e->layer, "qkv");
    eager_tensor q = layer_linear(e, x, TIDE_Q_PROJ, eager_passing("attn.q_proj"));
    eager_tensor k = layer_linear(e, x, TIDE_K_PROJ, eager_passing("attn.k_proj"));
    eager_tensor v = layer_linear(e, x, TIDE_V_PROJ, eager_passing("attn.v"));
    split_heads(e, &q);
    split_heads(e, &k);
    split_heads(e, &v);
    eager_enter(e, e->layer, "rope");
    if (is_2025) {
        place = positions(e, "attn.token_positions");
    }
    eager_assign(e, &q, rope(e, &q, &ROPE_Q));
    eager_assign(e, &k, rope(e, &k, &ROPE_K));
    eager_enter(e, e->layer, "attention");
    if (!is_flash) {
        seq = positions(e, "attn.mask_positions");
        mask = causal_mask(e);
    }
    eager_tensor context =
        is_flash ? eager_flash(e, &q, &k, &v) : naive_attention(e, &q, &k, &v, &mask);
    eager_tensor heads = join_heads(e, &context);
    eager_drop(e, &context);
    eager_enter(e, e->layer, "output_proj");
    eager_tensor out = layer_linear(e, &heads, TIDE_OUTPUT_PROJ, eager_passing("attn.output_proj"));
    eager_drop(e, &place);
    eager_drop(e, &q);
    eager_drop(e, &k);
    eager_drop(e, &v);
    eager_drop(e, &seq);
    eager_drop(e, &mask);
    eager_drop(e, &heads);
    return out;
}

/* ---- feed-forward and block ---- */

/* w2(silu(w1 x) * (w3 x)) with silu written as x * sigmoid(x). */
static eager_tensor swiglu(tide_eager *e, const eager_tensor *x) {
    eager_enter(e, e->layer, "ffn");
    eager_tensor gate = layer_linear(e, x, TIDE_W1, eager_kept("ffn.gate"));
    eager_tensor sigmoid = eager_unary(e, EAGER_SIGMOID, &gate, eager_kept("ffn.sigmoid"));
    eager_tensor silu = eager_binary(e, EAGER_MUL, &gate, &sigmoid, eager_kept("ffn.silu"));
    eager_drop(e, &sigmoid);
    eager_drop(e, &gate);
    eager_tensor up = layer_linear(e, x, TIDE_W3, eager_kept("ffn.up"));
    eager_tensor product = eager_binary(e, EAGER_MUL, &silu, &up, eager_kept("ffn.product"));
    eager_drop(e, &silu);
    eager_drop(e, &up);
    eager_tensor out = layer_linear(e, &product, TIDE_W2, eager_passing("ffn.down"));
    eager_drop(e, &product);
    return out;
}

eager_tensor eager_block(tide_eager *e, int32_t layer, const eager_tensor *x) {
    eager_enter(e, layer, "ln1");
    eager_tensor normed = rms_norm(e, x, tide_parameter_of_layer((size_t)layer, TIDE_LN1), &LN1);
    eager_tensor x_attention = attention(e, &normed);
    eager_drop(e, &normed);
    eager_enter(e, layer, "residual");
    eager_tensor mid = eager_binary(e, EAGER_ADD, x, &x_attention, eager_kept("mid"));
    eager_enter(e, layer, "ln2");
    normed = rms_norm(e, &mid, tide_parameter_of_layer((size_t)layer, TIDE_LN2), &LN2);
    eager_tensor x_ffn = swiglu(e, &normed);
    eager_drop(e, &normed);
    eager_enter(e, layer, "residual");
    eager_tensor out = eager_binary(e, EAGER_ADD, &mid, &x_ffn, eager_kept("out"));
    eager_drop(e, &x_attention);
    eager_drop(e, &mid);
    eager_drop(e, &x_ffn);
    return out;
}

/* ---- the model ---- */

void eager_model_forward(tide_eager *e) {
    const tide_model_config *m = &e->config.model;
    bool is_2025 = e->config.edition == TIDE_EDITION_2025;
    bool recomputes = e->config.recompute == TIDE_RECOMPUTE_BLOCK && e->records;
    e->autocast = is_mixed(e);
    eager_enter(e, -1, "embedding");
    eager_tensor x = eager_index(e, &e->values[tide_parameter_token_embeddings()], &e->tokens,
                                 is_2025, eager_kept("embedded"));
    /* Of the runs of 2026 without a graph, one more (B, T, C) array is alive throughout. */
    eager_tensor embedded = is_2025 ? (eager_tensor){0} : eager_retain(&x);
    for (int32_t layer = 0; layer < (int32_t)m->n_layers; layer++) {
        eager_assign(e, &x,
                     recomputes ? eager_checkpoint(e, layer, &x) : eager_block(e, layer, &x));
    }
    eager_enter(e, -1, "ln_final");
    eager_assign(e, &x, rms_norm(e, &x, tide_parameter_ln_final(m), &LN_FINAL));
    eager_enter(e, -1, "lm_head");
    eager_tensor logits = linear(e, &x, tide_parameter_lm_head(m), eager_kept("logits"));
    eager_drop(e, &x);
    eager_drop(e, &embedded);
    eager_assign(e, &e->logits, logits);
}

/* mean(gather(-log_softmax(logits), targets)) */
void eager_model_loss(tide_eager *e) {
    eager_enter(e, -1, "loss");
    eager_tensor indices;
    eager_tensor largest =
        eager_max(e, &e->logits, eager_passing("loss.row_max"), "loss.row_argmax", &indices);
    eager_drop(e, &indices);
    eager_tensor shifted =
        eager_binary(e, EAGER_SUB, &e->logits, &largest, eager_passing("loss.shifted"));
    eager_tensor exps = eager_unary(e, EAGER_EXP, &shifted, eager_kept("loss.exp"));
    eager_tensor sums = eager_reduce(e, EAGER_SUM, &exps, eager_kept("loss.row_sum"));
    eager_drop(e, &exps);
    eager_tensor logs = eager_unary(e, EAGER_LOG, &sums, eager_passing("loss.row_log_sum"));
    eager_drop(e, &sums);
    eager_tensor log_probs =
        eager_binary(e, EAGER_SUB, &shifted, &logs, eager_passing("loss.log_probs"));
    eager_drop(e, &logs);
    eager_drop(e, &shifted);
    eager_drop(e, &largest);
    eager_tensor negated = eager_unary(e, EAGER_NEG, &log_probs, eager_kept("loss.nll"));
    eager_drop(e, &log_probs);
    eager_tensor picked = eager_gather(e, &negated, &e->targets, eager_passing("loss.row_losses"));
    eager_tensor loss = eager_mean_all(e, &picked, eager_kept("loss"));
    eager_drop(e, &picked);
    eager_drop(e, &negated);
    eager_assign(e, &e->loss, loss);
}

void eager_end_autocast(tide_eager *e) {
    e->autocast = false;
    for (size_t i = 0; i < e->n_parameters; i++) {
        eager_drop(e, &e->casts[i]);
    }
}
