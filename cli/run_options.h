/* run_options.h - the rows of option tables that describe a run: its model, what a step does, where
 * it runs. Each stands here once; the table of a command names those that the command takes.
 *
 * `base` is where the command's struct of values has its tide_profile_options (0 where it is one).
 * `more` is a literal behind the help: "; default small". `text` is the whole of it.
 */
#ifndef TIDE_CLI_RUN_OPTIONS_H
#define TIDE_CLI_RUN_OPTIONS_H

#include "cli/profile/internal.h"
#include "cli/run_choices.h"

/* A row of the kind, for a member of tide_profile_options; then its other fields. */
#define TIDE_RUN_ROW(of_kind, base, member, ...)                                                   \
    { .kind = (of_kind), .offset = (base) + offsetof(tide_profile_options, member), __VA_ARGS__ }

/* ---- the model ---- */

#define TIDE_RUN_WORKLOAD(base)                                                                    \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICE, base, workload, .name = "workload",                           \
                 .choice_at = tide_choice_workload,                                                \
                 .help = "transformer, or linear layers with GELU: --d-model 256, --layers 4 and " \
                         "--batch 256 are its shape; default transformer")

#define TIDE_RUN_SIZE(base, more)                                                                  \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICES, base, sizes, .name = "size", .aliases = "model-size",        \
                 .choice_at = tide_choice_size, .help = "preset" more)

/* Six rows: what makes a model in place of a preset, or of a part of it. */
#define TIDE_RUN_DIMENSIONS(base)                                                                  \
    TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, d_model, .name = "d-model", .value = "N",                \
                 .aliases = "dim",                                                                 \
                 .help = "width; with any of these the size is called custom and the rest comes "  \
                         "from --size"),                                                           \
        TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, n_layers, .name = "layers", .value = "N",            \
                     .aliases = "num-layers", .help = "number of blocks"),                         \
        TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, n_heads, .name = "heads", .value = "N",              \
                     .aliases = "num-heads", .help = "attention heads; they divide the width"),    \
        TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, d_ff, .name = "d-ff", .value = "N",                  \
                     .help = "hidden width of the feed-forward layers"),                           \
        TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, vocab_size, .name = "vocab", .value = "N",           \
                     .aliases = "vocab-size", .help = "vocabulary"),                               \
        TIDE_RUN_ROW(TIDE_OPTION_TEXT, base, config_path, .name = "config", .value = "FILE.json",  \
                     .help = "model from a file with the keys size, d_model, n_layers, n_heads, "  \
                             "d_ff, vocab_size, context_length, batch_size, rope_theta")

/* ---- what a step does ---- */

#define TIDE_RUN_BATCH(base, more)                                                                 \
    TIDE_RUN_ROW(TIDE_OPTION_COUNTS, base, batches, .name = "batch", .value = "N",                 \
                 .aliases = "batch-size", .help = "sequences in a batch" more)

#define TIDE_RUN_CONTEXT(base, more)                                                               \
    TIDE_RUN_ROW(TIDE_OPTION_COUNTS, base, contexts, .name = "context", .value = "N",              \
                 .aliases = "context-length", .help = "tokens in a sequence" more)

#define TIDE_RUN_MODE(base, more)                                                                  \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICES, base, modes, .name = "mode", .choice_at = tide_choice_mode,  \
                 .help = "what a step does" more)

#define TIDE_RUN_KEEP_GRAPH(base)                                                                  \
    TIDE_RUN_ROW(TIDE_OPTION_FLAG, base, keep_graph, .name = "keep-graph",                         \
                 .help = "forward mode: keep what backward would need")

#define TIDE_RUN_PRECISION(base, text)                                                             \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICES, base, precisions, .name = "precision",                       \
                 .synonyms = "bf16=bf16-mixed", .choice_at = tide_choice_precision,                \
                 .help = (text))

#define TIDE_RUN_ATTENTION(base, text)                                                             \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICES, base, attentions, .name = "attention",                       \
                 .choice_at = tide_choice_attention, .help = (text))

#define TIDE_RUN_RECOMPUTE(base, text)                                                             \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICES, base, recomputes, .name = "recompute",                       \
                 .choice_at = tide_choice_recompute, .help = (text))

#define TIDE_RUN_EMULATE(base)                                                                     \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICE, base, emulate, .name = "emulate",                             \
                 .choice_at = tide_choice_emulate,                                                 \
                 .help = "none: tidemark's own operators; pytorch: the allocations that PyTorch "  \
                         "makes for the same model, on the virtual device; default none")

#define TIDE_RUN_EDITION(base, more)                                                               \
    TIDE_RUN_ROW(TIDE_OPTION_CHOICE, base, edition, .name = "edition",                             \
                 .choice_at = tide_choice_edition,                                                 \
                 .help = "year of the course assignment whose PyTorch code is emulated" more       \
                         "; default 2026")

#define TIDE_RUN_CLIP(base)                                                                        \
    TIDE_RUN_ROW(TIDE_OPTION_REAL, base, clip_grad_norm, .name = "clip-grad-norm", .value = "X",   \
                 .help = "clip the gradients' global norm")

#define TIDE_RUN_SEED(base)                                                                        \
    TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, seed, .name = "seed", .value = "N",                      \
                 .help = "of weights and tokens; default 0")

#define TIDE_RUN_WARMUP(base, more)                                                                \
    TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, warmup_steps, .name = "warmup", .value = "N",            \
                 .aliases = "warmup-steps", .help = "steps before the measured ones" more)

#define TIDE_RUN_STEPS(base, more)                                                                 \
    TIDE_RUN_ROW(TIDE_OPTION_COUNT, base, steps, .name = "steps", .value = "N",                    \
                 .aliases = "measure-steps", .help = "measured steps" more)

/* ---- where ---- */

#define TIDE_RUN_DEVICE(base, text)                                                                \
    TIDE_RUN_ROW(TIDE_OPTION_TEXT, base, device, .name = "device",                                 \
                 .value = "auto|cuda[:N]|cpu|virtual[:CARD]", .choice_at = tide_choice_device,     \
                 .help = (text))

#define TIDE_RUN_MEMORY_LIMIT(base, more)                                                          \
    TIDE_RUN_ROW(TIDE_OPTION_SIZE, base, memory_limit_bytes, .name = "memory-limit",               \
                 .value = "SIZE", .help = "reserved bytes may not exceed it: 24GiB" more)

#define TIDE_RUN_ALLOC_CONF(base)                                                                  \
    TIDE_RUN_ROW(TIDE_OPTION_TEXT, base, alloc_conf, .name = "alloc-conf",                         \
                 .value = "NAME:VALUE,...",                                                        \
                 .help = "allocator settings, in PyTorch's names; on top of $TIDEMARK_ALLOC_CONF")

#endif
