/* model_options.h - the options that describe runs of our own model: their defaults, their rows in
 * option tables (cli/options/run_options.h), and the grid of configurations that lists of them
 * name.
 */
#ifndef TIDE_MODEL_COMMANDS_OPTIONS_MODEL_OPTIONS_H
#define TIDE_MODEL_COMMANDS_OPTIONS_MODEL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/run_options.h"
#include "common/status.h"
#include "device/device.h"
#include "model/commands/options/model_choices.h"
#include "model/run/model.h"

enum {
    TIDE_RUN_MAX_STEPS = 1000000,
    TIDE_MODEL_NAME_BYTES = sizeof(((tide_model_config *)NULL)->size) /* with the NUL */
};

/* The options that commands of tidemark's own models do not need. */
extern const tide_option_unneeded TIDE_RUN_UNNEEDED_OPTIONS[];

/* tide_run_options_init, with the counts of tide_run_model_init. */
void tide_model_options_init(tide_run_options *options);

/* Refuses values that no run could have, and invalid settings of the allocator. */
TIDE_NODISCARD tide_status tide_run_options_check(const tide_run_options *options,
                                                  tide_error *error);

/* Whether an option, not a preset or a file, sets a dimension of the model. */
bool tide_run_options_is_custom(const tide_run_options *options);

/* The number of models that the command line names, by size or by file; at least 1. */
size_t tide_run_options_n_models(const tide_run_options *options);

/* The number of runs that the lists name: the product of their lengths. */
size_t tide_run_options_n_runs(const tide_run_options *options);

/* The run of that number, 0 .. n - 1, on that device (never "auto"), not recorded; its texts are
 * borrowed. The order: size, mode, context, batch, precision, attention, recompute; the last vary
 * fastest. TIDE_INVALID, TIDE_LIMIT if there is no such run; the other parts of the configuration
 * are filled anyway. */
TIDE_NODISCARD tide_status tide_run_options_configure(const tide_run_options *options,
                                                      size_t number, const char *device,
                                                      tide_run_config *ret_config,
                                                      tide_error *error);

/* Sets the values that a JSON file states for the model: d_model, n_layers, n_heads, d_ff,
 * vocab_size, context_length, batch_size, rope_theta, no_head, size. The message of TIDE_INVALID
 * names file, place or key. */
TIDE_NODISCARD tide_status tide_model_file_read(const char *path, tide_model_config *config,
                                                tide_error *error);
/* The name of a model that is one of several: "wide" of "models/wide.json". TIDE_LIMIT if it is
 * empty or too long for the name of a model. */
TIDE_NODISCARD tide_status tide_model_file_name(const char *path,
                                                char ret_name[TIDE_MODEL_NAME_BYTES],
                                                tide_error *error);

/* ---- the device ---- */

/* Opens and closes the device, with "auto" the best one. On a GPU this process keeps a context.
 * `command` names the command in notes on stderr. */
TIDE_NODISCARD tide_status tide_pick_device(const char *command, const char *spec,
                                            char ret_spec[TIDE_RUN_SPEC_BYTES],
                                            tide_device_kind *ret_kind, tide_error *error);
/* The same from a subprocess that ends immediately, so this process keeps no context on a GPU. */
TIDE_NODISCARD tide_status tide_pick_device_in_subprocess(const char *command, const char *spec,
                                                          char ret_spec[TIDE_RUN_SPEC_BYTES],
                                                          tide_device_kind *ret_kind,
                                                          tide_error *error);
/* TIDE_INVALID, with the reason, if the device does not support the precision. */
TIDE_NODISCARD tide_status tide_check_precision(tide_device_kind kind, tide_precision precision,
                                                tide_error *error);

/* ---- rows ---- */

/* ---- the model ---- */

#define TIDE_OPTION_ROW_WORKLOAD(base)                                                             \
    TIDE_OPTION_ROW(                                                                               \
        TIDE_OPTION_CHOICE, base, workload, .name = "workload", .choice_at = tide_choice_workload, \
        .help = "transformer; mlp: linear layers with GELU, of the shape --d-model 256, "          \
                "--layers 4 and --batch 256; or decode: a language model that generates tokens; "  \
                "default transformer")

/* Two rows that only --workload decode has. */
#define TIDE_OPTION_ROW_DECODE(base)                                                               \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICE, base, language_model, .name = "language-model",            \
                    .choice_at = tide_decode_preset_name,                                          \
                    .help = "with --workload decode, its model and the type of its weights; "      \
                            "default llama-2-7B-bf16"),                                            \
        TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, new_tokens, .name = "new-tokens", .value = "N",   \
                        .help = "with --workload decode, tokens that each sequence gets after "    \
                                "its prompt of --context tokens; defaults 200 and 6")

#define TIDE_OPTION_ROW_SIZE(base, more)                                                           \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICES, base, sizes, .name = "size", .aliases = "model-size",     \
                    .choice_at = tide_choice_size,                                                 \
                    .help = "preset of the model's dimensions" more)

/* Seven rows that describe a model instead of a preset, or instead of parts of one. */
#define TIDE_OPTION_ROW_DIMENSIONS(base)                                                           \
    TIDE_OPTION_ROW(                                                                               \
        TIDE_OPTION_COUNT, base, d_model, .name = "d-model", .value = "N", .aliases = "dim",       \
        .help = "width of the model; with this or any of the next four options the size "          \
                "is called custom, and the other dimensions come from --size"),                    \
        TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, n_layers, .name = "layers", .value = "N",         \
                        .aliases = "num-layers", .help = "number of blocks"),                      \
        TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, n_heads, .name = "heads", .value = "N",           \
                        .aliases = "num-heads",                                                    \
                        .help = "number of attention heads, which must divide the width"),         \
        TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, d_ff, .name = "d-ff", .value = "N",               \
                        .help = "hidden width of the feed-forward layers"),                        \
        TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, vocab_size, .name = "vocab", .value = "N",        \
                        .aliases = "vocab-size", .help = "number of tokens in the vocabulary"),    \
        TIDE_OPTION_ROW(                                                                           \
            TIDE_OPTION_FILES, base, configs, .name = "config", .value = "FILE.json",              \
            .help = "read the model from a JSON file with the keys size, d_model, n_layers, "      \
                    "n_heads, d_ff, vocab_size, context_length, batch_size, rope_theta, "          \
                    "no_head; several files, comma-separated, are several models, named by their " \
                    "files"),                                                                      \
        TIDE_OPTION_ROW(TIDE_OPTION_FLAG, base, no_head, .name = "no-head",                        \
                        .help = "the base model: it ends at the output of the last norm, without " \
                                "lm_head, logits and loss; mode forward only")

/* ---- the parts of a step ---- */

#define TIDE_OPTION_ROW_BATCH(base, more)                                                          \
    TIDE_OPTION_ROW(TIDE_OPTION_COUNTS, base, batches, .name = "batch", .value = "N",              \
                    .aliases = "batch-size", .help = "sequences in a batch" more)

#define TIDE_OPTION_ROW_CONTEXT(base, more)                                                        \
    TIDE_OPTION_ROW(TIDE_OPTION_COUNTS, base, contexts, .name = "context", .value = "N",           \
                    .aliases = "context-length", .help = "tokens in a sequence" more)

#define TIDE_OPTION_ROW_MODE(base, more)                                                           \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICES, base, modes, .name = "mode",                              \
                    .synonyms = "fwd=forward bwd=forward-backward fwd-bwd=forward-backward",       \
                    .choice_at = tide_choice_mode, .help = "which phases a step has" more)

#define TIDE_OPTION_ROW_ONLY_FORWARD(base)                                                         \
    TIDE_OPTION_ROW(TIDE_OPTION_SHORTHAND, base, modes, .name = "only-forward",                    \
                    .synonyms = "forward", .help = "the same as --mode forward")

#define TIDE_OPTION_ROW_KEEP_GRAPH(base)                                                           \
    TIDE_OPTION_ROW(TIDE_OPTION_FLAG, base, keep_graph, .name = "keep-graph",                      \
                    .help = "in mode forward, keep what backward would need")

#define TIDE_OPTION_ROW_PRECISION(base, text)                                                      \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICES, base, precisions, .name = "precision",                    \
                    .aliases = "dtype",                                                            \
                    .synonyms = "bf16=bf16-mixed bfloat16=bf16-mixed fp16=fp16-mixed "             \
                                "float16=fp16-mixed half=fp16-mixed float32=fp32",                 \
                    .choice_at = tide_choice_precision, .help = (text))

#define TIDE_OPTION_ROW_MIXED_PRECISION(base)                                                      \
    TIDE_OPTION_ROW(TIDE_OPTION_SHORTHAND, base, precisions, .name = "mixed-precision",            \
                    .synonyms = "bf16-mixed", .help = "the same as --precision bf16-mixed")

#define TIDE_OPTION_ROW_ATTENTION(base, text)                                                      \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICES, base, attentions, .name = "attention",                    \
                    .choice_at = tide_choice_attention, .help = (text))

#define TIDE_OPTION_ROW_RECOMPUTE(base, text)                                                      \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICES, base, recomputes, .name = "recompute",                    \
                    .choice_at = tide_choice_recompute, .help = (text))

#define TIDE_OPTION_ROW_EMULATE(base)                                                              \
    TIDE_OPTION_ROW(                                                                               \
        TIDE_OPTION_CHOICE, base, emulate, .name = "emulate", .choice_at = tide_choice_emulate,    \
        .help = "none runs tidemark's own operators; pytorch makes the allocations that "          \
                "PyTorch makes for the same model, on the virtual device; default none")

#define TIDE_OPTION_ROW_EDITION(base, more)                                                        \
    TIDE_OPTION_ROW(TIDE_OPTION_CHOICE, base, edition, .name = "edition",                          \
                    .choice_at = tide_choice_edition,                                              \
                    .help = "year of the course assignment whose PyTorch code is emulated" more    \
                            "; default 2026")

#define TIDE_OPTION_ROW_CLIP(base)                                                                 \
    TIDE_OPTION_ROW(TIDE_OPTION_REAL, base, clip_grad_norm, .name = "clip-grad-norm",              \
                    .value = "X",                                                                  \
                    .help = "clip the global norm of the gradients to X; default off")

#define TIDE_OPTION_ROW_SEED(base)                                                                 \
    TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, seed, .name = "seed", .value = "N",                   \
                    .help = "seed of the random weights and tokens; default 0")

#define TIDE_OPTION_ROW_WARMUP(base, more)                                                         \
    TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, warmup_steps, .name = "warmup", .value = "N",         \
                    .aliases = "warmup-steps",                                                     \
                    .help = "number of steps before the measured ones" more)

#endif
