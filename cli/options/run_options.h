/* run_options.h - the options that describe runs, for every command that makes any: their values,
 * and the rows in option tables that need no model. The model's rows are in
 * model/commands/options/model_options.h.
 *
 * Each row is defined here once; the table of a command names the rows that the command uses. In
 * the macros of rows, `base` is the offset of the tide_run_options in the command's struct of
 * values (0 if it is that struct), `more` is a literal after the help, such as "; default small",
 * and `text` is the whole help.
 */
#ifndef TIDE_CLI_RUN_OPTIONS_H
#define TIDE_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options/options.h"
#include "cli/options/report_options.h"
#include "cli/options/run_choices.h"
#include "report/table.h"

#define TIDE_NOT_GIVEN UINT64_MAX /* a count or size option that is not on the command line */

enum { TIDE_RUN_SPEC_BYTES = 64 /* bytes of a spec for tide_device_open */ };

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_run_options {
    /* Empty: the default. */
    tide_option_list sizes, contexts, batches, modes, precisions, attentions, recomputes;
    uint64_t d_model, n_layers, n_heads, d_ff, vocab_size; /* TIDE_NOT_GIVEN */
    tide_option_files configs;                             /* files of models, instead of sizes */
    bool no_head;                                          /* mode forward only */
    bool keep_graph;                                       /* mode forward only */
    const char *workload;                                  /* transformer, mlp, decode */
    const char *language_model;                            /* decode: a preset; NULL: the default */
    uint64_t new_tokens;                                   /* decode: TIDE_NOT_GIVEN: 200 */
    const char *emulate;                                   /* none, pytorch */
    const char *edition;         /* 2025, 2026; NULL: the default; only with emulate pytorch */
    const char *device;          /* "auto", or a spec for tide_device_open */
    uint64_t memory_limit_bytes; /* TIDE_RUN_UNLIMITED: none */
    uint64_t spill_bytes;        /* 0: nothing spills to the host's memory */
    const char *alloc_conf;      /* NULL: none */
    double clip_grad_norm;       /* 0: no clipping */
    uint64_t seed;               /* of parameters, tokens and targets */
    uint64_t warmup_steps;       /* at most TIDE_RUN_MAX_STEPS */
    uint64_t steps;              /* measured; 1 .. TIDE_RUN_MAX_STEPS */
    /* How results are reported: not every command has all of these. */
    const char *output;         /* NULL: the default name in this folder */
    tide_report_options report; /* how the report is printed */
    bool strip_private;         /* leave out command line, host name and folders */
} tide_run_options;

/* Sets all options to "not given"; those of the model have defaults of their own
 * (tide_model_options_init). */
void tide_run_options_init(tide_run_options *options);

/* ---- rows ---- */

/* A row of this kind, for a member of tide_run_options, followed by the row's other fields. */
#define TIDE_OPTION_ROW(of_kind, base, member, ...)                                                \
    { .kind = (of_kind), .offset = (base) + offsetof(tide_run_options, member), __VA_ARGS__ }

#define TIDE_OPTION_ROW_STEPS(base, more)                                                          \
    TIDE_OPTION_ROW(TIDE_OPTION_COUNT, base, steps, .name = "steps", .value = "N",                 \
                    .aliases = "measure-steps num-steps", .help = "number of measured steps" more)

/* ---- where ---- */

#define TIDE_OPTION_ROW_DEVICE(base, text)                                                         \
    TIDE_OPTION_ROW(TIDE_OPTION_TEXT, base, device, .name = "device",                              \
                    .value = "auto|cuda[:N]|cpu|virtual[:CARD]", .choice_at = tide_choice_device,  \
                    .help = (text))

#define TIDE_OPTION_ROW_MEMORY_LIMIT(base, more)                                                   \
    TIDE_OPTION_ROW(TIDE_OPTION_SIZE, base, memory_limit_bytes, .name = "memory-limit",            \
                    .value = "SIZE", .help = "limit of the reserved bytes, such as 24GiB" more)

#define TIDE_OPTION_ROW_SPILL(base)                                                                \
    TIDE_OPTION_ROW(TIDE_OPTION_SIZE, base, spill_bytes, .name = "spill", .value = "SIZE",         \
                    .help = "on a virtual card: so much more is in the host's memory once the "    \
                            "card is full, as Windows' driver does it; default 0")

#define TIDE_OPTION_ROW_ALLOC_CONF(base)                                                           \
    TIDE_OPTION_ROW(                                                                               \
        TIDE_OPTION_TEXT, base, alloc_conf, .name = "alloc-conf", .value = "NAME:VALUE,...",       \
        .help = "allocator settings in PyTorch's names, added to those of $TIDEMARK_ALLOC_CONF")

#endif
