/* memory_model.c - docs/model/memory-model.md as arithmetic. The letters are that page's; a name in
 * quotes is a row of its tables. All products are far below 2^63: tide_model_config_check
 * guarantees this. */
#include "model/memory/memory_model.h"

#include <string.h>

#include "model/precision.h"

typedef struct symbols {
    uint64_t e, r, g;       /* bytes of an element: activation, residual stream, parameter */
    uint64_t w;             /* bytes of an element of a weight copy: 2 in mixed precision, else 0 */
    bool naive, recompute;  /* attention, recompute setting */
    bool has_head;          /* the forward pass ends at the logits, else at ln_final */
    uint64_t L, R, C, F, V; /* dimensions */
    uint64_t E;             /* e N: an activation (R, C) */
    uint64_t X;             /* r N: a residual tensor (R, C) */
    uint64_t M;             /* e R F: an activation (R, F) */
    uint64_t A;             /* e B H T^2: attention probabilities */
    uint64_t S;             /* 4 B H T: a row statistic per head */
    uint64_t Y;             /* e R V: logits */
    uint64_t Q;             /* w N: the copy of the residual gradient */
    uint64_t found_inf;     /* 4 if the loss is scaled: the flag of a skipped step */
    uint64_t scratch;       /* 4 min(ceil(R / 64), 128) C */
    uint64_t cc, cf, vc;    /* elements of the matrices: C^2, C F, V C */
    uint64_t block_matrices; /* 4 C^2 + 3 C F */
    uint64_t saved;          /* s: a block with all it keeps for backward */
    uint64_t kept;       /* k: what a block keeps at the end of forward: s, or X with recompute */
    uint64_t persistent; /* workspace, inputs, parameters */
} symbols;

/* The largest instant so far. With `is_fixed` it is one given instant, whose bytes are filled in.
 */
typedef struct peak_so_far {
    uint64_t bytes;      /* requested */
    const char *instant; /* static; the page's name */
    int64_t layer;       /* -1: not in a layer */
    bool is_fixed;       /* instant and layer are given */
} peak_so_far;

static void consider(peak_so_far *peak, uint64_t bytes, const char *instant, int64_t layer) {
    if (peak->is_fixed) {
        bool is_it = layer == peak->layer && strcmp(instant, peak->instant) == 0;
        peak->bytes = is_it ? bytes : peak->bytes;
    } else if (bytes > peak->bytes) {
        peak->bytes = bytes;
        peak->instant = instant;
        peak->layer = layer;
    }
}

static symbols symbols_of(const tide_memory_model_run *run) {
    const tide_model_config *m = &run->model;
    uint64_t e = tide_dtype_bytes(tide_precision_activation_type(run->precision));
    uint64_t g = tide_dtype_bytes(tide_precision_parameter_type(run->precision));
    uint64_t T = m->context_length;
    uint64_t H = m->n_heads;
    symbols s = {
        .e = e,
        .r = g,
        .g = g,
        .w = tide_precision_is_mixed(run->precision) ? e : 0,
        .naive = run->attention == TIDE_ATTENTION_NAIVE,
        .recompute = run->recompute == TIDE_RECOMPUTE_BLOCK,
        .has_head = !run->model.no_head,
        .L = m->n_layers,
        .R = m->batch_size * T,
        .C = m->d_model,
        .F = m->d_ff,
        .V = m->vocab_size,
    };
    uint64_t rows64 = (s.R + 63) / 64;
    s.E = s.e * s.R * s.C;
    s.X = s.r * s.R * s.C;
    s.M = s.e * s.R * s.F;
    s.A = s.e * s.R * H * T;
    s.S = 4 * s.R * H;
    s.Y = s.e * s.R * s.V;
    s.Q = s.w * s.R * s.C;
    s.found_inf = tide_precision_scales_loss(run->precision) ? 4 : 0;
    s.scratch = 4 * (rows64 < 128 ? rows64 : 128) * s.C;
    s.cc = s.C * s.C;
    s.cf = s.C * s.F;
    s.vc = s.V * s.C;
    s.block_matrices = 4 * s.cc + 3 * s.cf;
    s.saved = 2 * s.X + 6 * s.E + 3 * s.M + 8 * s.R + (s.naive ? s.A : s.S);
    s.kept = s.recompute ? s.X : s.saved;
    s.persistent =
        run->workspace_bytes + 8 * s.R + 4 * T * (s.C / H) + s.g * tide_model_n_parameters(m);
    return s;
}

/* A block whose forward keeps nothing of its own, on top of `base`. c1 1: the weight copies that
 * the block makes stay alive; 0: each is released immediately. */
static void consider_lean_block(peak_so_far *peak, const symbols *s, uint64_t base, uint64_t c1,
                                int64_t layer) {
    uint64_t cc = s->w * s->cc;
    uint64_t cf = s->w * s->cf;
    uint64_t probs = s->naive ? s->A : 0;
    consider(peak, base + s->X + s->E, "ln1", layer);
    consider(peak, base + s->X + 4 * s->E + cc + c1 * 2 * cc, "q, k, v projections", layer);
    consider(peak, base + s->X + 4 * s->E + probs + c1 * 3 * cc, "attention", layer);
    consider(peak, base + 2 * s->X + s->E + cc + c1 * 3 * cc, "output projection", layer);
    /* From here on the block's input is alive only if backward needs it. */
    uint64_t input = c1 * s->X;
    uint64_t copies = c1 * 4 * cc;
    consider(peak, base + input + s->X + s->E + copies, "ln2", layer);
    consider(peak, base + input + s->X + s->E + 2 * s->M + copies + cf + c1 * cf,
             "gate and up projections", layer);
    consider(peak, base + input + s->X + 3 * s->M + copies + c1 * 2 * cf, "swiglu", layer);
    consider(peak, base + input + 2 * s->X + s->M + copies + cf + c1 * 2 * cf, "down projection",
             layer);
}

static void consider_lean_forward(peak_so_far *peak, const symbols *s) {
    consider(peak, s->persistent + s->X, "embedding", -1);
    consider_lean_block(peak, s, s->persistent, 0, 0);
    consider(peak, s->persistent + s->X + s->E, "ln_final", -1);
    if (s->has_head) {
        consider(peak, s->persistent + s->E + s->Y + s->w * s->vc, "lm_head", -1);
    }
}

/* Everything kept, at the logits or, without a head, at the output of ln_final. */
static uint64_t kept_at_end(const symbols *s) {
    return s->L * (s->kept + s->w * s->block_matrices) + s->X + s->E + 4 * s->R +
           (s->has_head ? s->Y + s->w * s->vc : 0);
}

static void consider_kept_forward(peak_so_far *peak, const symbols *s, uint64_t base,
                                  bool has_loss) {
    if (s->recompute) {
        uint64_t before = (s->L - 1) * (s->X + s->w * s->block_matrices);
        consider_lean_block(peak, s, base + before, 1, (int64_t)s->L - 1);
    }
    uint64_t end = base + kept_at_end(s);
    consider(peak, end, s->has_head ? "lm_head" : "ln_final", -1);
    if (has_loss) {
        consider(peak, end + 4 * s->R + 4, "cross-entropy", -1);
    }
}

static void consider_head_backward(peak_so_far *peak, const symbols *s, uint64_t base) {
    uint64_t blocks = base + s->L * (s->kept + s->w * s->block_matrices);
    uint64_t final = s->X + 4 * s->R;
    consider(peak, blocks + final + s->E + s->Y + s->w * s->vc + s->g * s->vc, "lm_head backward",
             -1);
    consider(peak, blocks + final + s->E + s->X + s->g * (s->vc + s->C) + s->scratch,
             "ln_final backward", -1);
}

/* `base` is everything that does not belong to this block, plus the residual gradient. */
static void consider_ffn_backward(peak_so_far *peak, const symbols *s, uint64_t base,
                                  int64_t layer) {
    uint64_t cf = s->w * s->cf;
    uint64_t cc = s->w * s->cc;
    uint64_t g = s->g * s->cf;
    consider(peak, base + s->saved + s->Q + 4 * cc + 3 * cf + g, "down projection backward", layer);
    consider(peak, base + s->saved + 2 * s->M + 4 * cc + 2 * cf + g, "swiglu backward", layer);
    consider(peak, base + s->saved - s->M + s->E + 4 * cc + 2 * cf + 2 * g,
             "gate projection backward", layer);
    consider(peak, base + s->saved - 2 * s->M + s->E + 4 * cc + cf + 3 * g,
             "up projection backward", layer);
    consider(peak, base + s->saved - 3 * s->M + 4 * cc + 3 * g + s->g * s->C + s->scratch,
             "ln2 backward", layer);
}

static void consider_attention_backward(peak_so_far *peak, const symbols *s, uint64_t base,
                                        int64_t layer) {
    uint64_t cc = s->w * s->cc;
    uint64_t g = s->g * s->cc;
    uint64_t made = base + s->g * (3 * s->cf + s->C);
    uint64_t half = s->saved - 3 * s->M - s->E - s->X - 4 * s->R;
    uint64_t inputs = s->X + 4 * s->R; /* the block's input and ln1's statistics */
    consider(peak, made + half + s->Q + (s->naive ? 0 : s->E) + 4 * cc + g,
             "output projection backward", layer);
    consider(peak, made + half + (s->naive ? s->A : s->E + s->S) + 3 * s->E + 3 * cc + g,
             "attention backward", layer);
    consider(peak, made + inputs + 5 * s->E + 3 * cc + 2 * g, "q projection backward", layer);
    consider(peak, made + inputs + 4 * s->E + 2 * cc + 3 * g, "k projection backward", layer);
    consider(peak, made + inputs + 3 * s->E + cc + 4 * g, "v projection backward", layer);
    consider(peak, made + inputs + s->E + 4 * g + s->g * s->C + s->scratch, "ln1 backward", layer);
}

/* The bytes are linear in the layer's index, so the largest is at the first or the last layer. */
static void consider_block_backward(peak_so_far *peak, const symbols *s, uint64_t base,
                                    uint64_t layer) {
    uint64_t before = layer * (s->kept + s->w * s->block_matrices);
    uint64_t after = s->g * (s->vc + s->C + (s->L - 1 - layer) * (s->block_matrices + 2 * s->C));
    consider_ffn_backward(peak, s, base + before + after + s->X, (int64_t)layer);
    consider_attention_backward(peak, s, base + before + after + s->X, (int64_t)layer);
}

static uint64_t chunks(uint64_t n_elements) {
    return (n_elements + 65535) / 65536;
}

/* Partial sums of all gradients' squares, and the norm. */
static uint64_t clip_bytes(const symbols *s) {
    uint64_t per_layer = 4 * chunks(s->cc) + 3 * chunks(s->cf) + 2 * chunks(s->C);
    return 4 * (2 * chunks(s->vc) + s->L * per_layer + chunks(s->C)) + 4;
}

/* One step of a mode with a loss; `state` bytes of optimizer state are alive from its beginning. */
static void consider_training_step(peak_so_far *peak, const symbols *s, uint64_t state,
                                   uint64_t gradients) {
    uint64_t base = s->persistent + state;
    consider_kept_forward(peak, s, base, true);
    base += 4; /* the loss */
    consider_head_backward(peak, s, base);
    consider_block_backward(peak, s, base, s->L - 1);
    consider_block_backward(peak, s, base, 0);
    consider(peak, base + s->X + gradients, "embedding backward", -1);
}

static void consider_optimizer(peak_so_far *peak, const symbols *s, const tide_memory_model *model,
                               const tide_memory_model_run *run) {
    uint64_t base = s->persistent + 4 + model->gradient_bytes + s->found_inf;
    uint64_t before_clip = run->n_steps > 1 ? model->optimizer_state_bytes : 0;
    if (run->clips) {
        consider(peak, base + before_clip + clip_bytes(s), "clipping", -1);
    }
    consider(peak, base + model->optimizer_state_bytes, "adamw", -1);
}

/* Every instant of the run. */
static void consider_all(peak_so_far *peak, const symbols *s, const tide_memory_model *model,
                         const tide_memory_model_run *run) {
    bool has_loss = run->mode != TIDE_FORWARD;
    if (!has_loss && !run->keep_graph) {
        consider_lean_forward(peak, s);
    } else if (!has_loss) {
        consider_kept_forward(peak, s, s->persistent, false);
    } else {
        uint64_t state = run->n_steps > 1 ? model->optimizer_state_bytes : 0;
        consider_training_step(peak, s, state, model->gradient_bytes);
    }
    if (run->mode == TIDE_TRAIN) {
        consider_optimizer(peak, s, model, run);
    }
}

void tide_memory_model_derive(const tide_memory_model_run *run, tide_memory_model *ret_model) {
    symbols s = symbols_of(run);
    uint64_t P = tide_model_n_parameters(&run->model);
    bool has_loss = run->mode != TIDE_FORWARD;
    bool keeps = has_loss || run->keep_graph;
    tide_memory_model model = {
        .workspace_bytes = run->workspace_bytes,
        .input_bytes = s.persistent - run->workspace_bytes - s.g * P,
        .parameter_bytes = s.g * P,
        .gradient_bytes = has_loss ? s.g * P : 0,
        .optimizer_state_bytes =
            run->mode == TIDE_TRAIN ? 2 * s.g * P + (run->is_captured ? sizeof(float) : 0) : 0,
        .saved_per_block_bytes = keeps ? s.kept : 0,
        .after_forward_bytes = s.persistent +
                               (keeps        ? kept_at_end(&s)
                                : s.has_head ? s.Y
                                             : s.E) +
                               (has_loss ? 4 : 0),
    };
    peak_so_far peak = {.bytes = 0, .instant = "", .layer = -1};
    consider_all(&peak, &s, &model, run);
    model.peak_bytes = peak.bytes;
    model.peak_instant = peak.instant;
    model.peak_layer = peak.layer;
    /* Derives the same instant again with copies of 0 bytes: the difference is the size of the
     * copies. Q, the copy of the residual gradient, keeps its bytes. */
    peak_so_far without = peak;
    without.is_fixed = true;
    s.w = 0;
    consider_all(&without, &s, &model, run);
    model.peak_weight_copy_bytes = peak.bytes - without.bytes;
    *ret_model = model;
}
