/* tidemark fit with a user's command: the largest value of a name in its arguments with which it
 * fits a virtual card. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/fit/internal.h"
#include "cli/interrupt.h"
#include "cli/program_grid.h"
#include "cli/progress.h"
#include "cli/options/report_options.h"
#include "cli/time_runs.h"
#include "common/hostmem.h"
#include "common/text/milliseconds.h"
#include "common/text/plural.h"
#include "programs/runs/program_fit.h"

enum { STEP_WORDS = 4 * TIDE_MS_TEXT };

/* The search on one card. */
typedef struct card_search {
    tide_program_grid *grid; /* borrowed; its only name has one value, that of the current run */
    size_t card;
    tide_progress *progress; /* borrowed */
    tide_program_fit_answer answer;
} card_search;

/* ---- the command line ---- */

static tide_status check_options(const tide_fit_options *options, const tide_option_table *table,
                                 const tide_operands *operands, tide_error *error) {
    const tide_option *other = tide_options_find_unused(
        table, operands,
        "vary device memory-limit spill multiple-of steps max-step-ms " TIDE_PROGRAM_OPTIONS
        " " TIDE_REPORT_OPTIONS);
    if (other != NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "--%s is about tidemark's own model, and a command follows the "
                         "options: leave one of them out",
                         other->name);
    }
    if (options->varied.n != 1) {
        return tide_fail(error, TIDE_INVALID,
                         "say once what is to be varied in the command: --vary batch=1..4096, with "
                         "{batch} where the value belongs");
    }
    if (options->multiple_of == 0) {
        return tide_fail(error, TIDE_INVALID, "--multiple-of 0: the step must be at least 1");
    }
    return options->run.memory_limit_bytes > 0
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "--memory-limit 0: the limit must be above 0");
}

static tide_status read_grid(const tide_fit_options *options, const tide_option_table *table,
                             const tide_operands *operands, char *const *arguments,
                             tide_program_grid *grid, tide_program_fit_question *question,
                             tide_error *error) {
    TIDE_TRY(check_options(options, table, operands, error));
    for (size_t i = 0; i < options->devices.n || i == 0; i++) {
        TIDE_TRY(tide_program_add_cards(
            grid, options->devices.n > 0 ? options->devices.texts[i] : NULL, error));
    }
    TIDE_TRY(tide_program_add_range(grid, options->varied.texts[0], &question->low, &question->high,
                                    error));
    grid->sets[0].values.n = 1;
    grid->memory_limit_bytes = options->run.memory_limit_bytes;
    grid->spill_bytes = options->run.spill_bytes;
    tide_program_options program = options->program;
    program.wants_time = options->most_step_ms > 0.0;
    TIDE_TRY(tide_program_take_options(grid, "fit", &program,
                                       tide_options_is_given(table, operands, "steps"),
                                       options->run.steps, error));
    question->most_step_ms = options->most_step_ms;
    return tide_program_take_command(grid, arguments, "vary", error);
}

/* ---- the runs ---- */

static void run_value(void *ctx, uint64_t value, tide_run_result *ret_result) {
    card_search *at = ctx;
    const tide_run_hooks hooks = {.shall_stop = tide_interrupt_shall_stop};
    tide_run_config config;
    (void)snprintf(at->grid->sets[0].values.texts[0], TIDE_OPTION_ITEM_BYTES, "%" PRIu64, value);
    tide_program_configure(at->grid, at->card, &config);
    tide_progress_say(at->progress, "%s: run %zu, %s %" PRIu64, at->grid->cards[at->card],
                      at->answer.n_runs, at->grid->sets[0].name, value);
    tide_run_in_subprocess(&config, &hooks, NULL, ret_result);
}

static tide_status search_cards(const tide_program_fit_question *asked, card_search *cards,
                                size_t n_cards, tide_error *error) {
    for (size_t i = 0; i < n_cards; i++) {
        tide_program_fit_question question = *asked;
        question.run = run_value;
        question.ctx = &cards[i];
        tide_status status = tide_program_fit_search(&question, &cards[i].answer, error);
        if (status != TIDE_OK && cards[i].answer.n_runs > 0) {
            tide_error_prefix(error, "%s, %s %" PRIu64, cards[i].grid->cards[i],
                              cards[i].grid->sets[0].name, cards[i].answer.next_value);
        }
        if (status != TIDE_OK) {
            return status;
        }
    }
    return TIDE_OK;
}

/* ---- the answer ---- */

/* "7.73 ms (5.12 to 12.8)". */
static const char *step_words(const tide_run_of_program *of, char ret_words[STEP_WORDS]) {
    char texts[3][TIDE_MS_TEXT];
    snprintf(ret_words, STEP_WORDS, "%s ms (%s to %s)", tide_ms_format(of->step_ms, texts[0]),
             tide_ms_format(of->step_low_ms, texts[1]), tide_ms_format(of->step_high_ms, texts[2]));
    return ret_words;
}

static void say_next(const card_search *at, const char *name, tide_report *report,
                     const char **ret_text) {
    const tide_run_result *next = &at->answer.next_result;
    const char *why = "";
    char words[STEP_WORDS];
    if (!at->answer.has_next) {
        *ret_text = "; nothing larger was asked for";
        return;
    }
    if (at->answer.next_is_slow) {
        *ret_text = tide_report_text(
            report, "; %s %" PRIu64 " has the memory, but a step is forecast to take %s", name,
            at->answer.next_value, step_words(&next->program, words));
        return;
    }
    if (next->asked_bytes >= 0 && next->free_bytes >= 0) {
        why = tide_report_text(report, ": it asks for %s where %s are free",
                               tide_report_bytes(report, next->asked_bytes),
                               tide_report_bytes(report, next->free_bytes));
    }
    *ret_text = tide_report_text(report, "; %s %" PRIu64 " does not fit%s", name,
                                 at->answer.next_value, why);
}

/* "near the limit", and the largest value that leaves what is not measured. */
static void say_safe(const card_search *at, tide_report *report) {
    const tide_program_fit_answer *answer = &at->answer;
    const char *card = at->grid->cards[at->card];
    const char *name = at->grid->sets[0].name;
    if (answer->result.program.is_near != 1) {
        return;
    }
    const tide_run_of_program *program = &answer->result.program;
    const char *why =
        program->unmeasured_bytes > program->margin_bytes
            ? tide_report_text(report,
                               "up to %s for the card's context or the largest work areas of "
                               "cuDNN is not measured, which is more than is left",
                               tide_report_bytes(report, program->unmeasured_bytes))
            : "the largest work areas of cuDNN find too little room, where PyTorch takes plans "
              "with smaller ones";
    const char *safe =
        answer->has_safe
            ? tide_report_text(report, "with that margin, %s %" PRIu64 " fits, which leaves %s",
                               name, answer->safe_value,
                               tide_report_bytes(report, answer->safe_result.program.margin_bytes))
            : "no value fits with that margin";
    tide_report_say(report, "near", "%s: %s %" PRIu64 " is near the limit: %s; %s", card, name,
                    answer->value, why, safe);
}

/* Calls whose memory is not exact, and retries. */
static void say_costs(const char *card, const tide_run_result *result, tide_report *report) {
    if (result->program.n_inexact > 0) {
        tide_report_say(report, "inexact",
                        "%s: %" PRId64 " %s not known exactly, or refused: tidemark run with the "
                        "same command names them",
                        card, result->program.n_inexact,
                        tide_plural((uint64_t)result->program.n_inexact, "call's memory is",
                                    "calls' memory is"));
    }
    if (result->memory.n_retries > 0) {
        tide_report_say(report, "retries",
                        "%s: PyTorch has to free all that its cache holds %" PRId64
                        " %s, and allocates it again, which costs time",
                        card, result->memory.n_retries,
                        tide_plural((uint64_t)result->memory.n_retries, "time", "times"));
    }
}

static void say_card(const card_search *at, tide_report *report) {
    const tide_program_fit_answer *answer = &at->answer;
    const tide_run_result *result = &answer->result;
    const char *name = at->grid->sets[0].name;
    const char *card = at->grid->cards[at->card];
    const char *next = "";
    char words[STEP_WORDS];
    const char *runs =
        tide_report_text(report, "%zu %s", answer->n_runs,
                         tide_plural(answer->n_runs, "run was made", "runs were made"));
    say_next(at, name, report, &next);
    if (!answer->fits) {
        tide_report_say(report, "answer", "%s: nothing %s%s; %s", card,
                        answer->has_next && answer->next_is_slow ? "is fast enough" : "fits", next,
                        runs);
        return;
    }
    tide_report_say(
        report, "answer",
        "%s: %s %" PRIu64 " fits%s%s: %s allocated and %s reserved at most, which leaves "
        "%s%s; %s",
        card, name, answer->value, result->program.is_near == 1 ? ", near the limit" : "",
        tide_fit_condition(&result->program, report),
        tide_report_bytes(report, result->memory.allocated_peak_bytes),
        tide_report_bytes(report, result->memory.reserved_peak_bytes),
        tide_report_bytes(report, result->program.margin_bytes), next, runs);
    say_safe(at, report);
    if (result->program.step_ms >= 0.0) {
        tide_report_say(report, "time", "%s: a step is forecast to take %s then", card,
                        step_words(&result->program, words));
        tide_time_runs forecasts = {.n = 0};
        char basis[TIDE_TIME_WORDS];
        tide_time_runs_add(&forecasts, result);
        tide_time_runs_command_words(&forecasts, card, basis);
        tide_report_say(report, "basis", "%s: %s", card, basis);
        tide_report_say(report, "host", "%s: %s", card, result->program.host);
    }
    if (result->program.growing_passes >= 0) {
        tide_report_say(report, "growing",
                        "%s: memory still grows after %" PRId64
                        " passes of a loop, by %s each time: more steps may need more (--steps)",
                        card, result->program.growing_passes,
                        tide_report_bytes(report, result->program.growing_bytes));
    }
    tide_fit_say_assumed(card, &result->program, report);
    say_costs(card, result, report);
}

/* Counts of a run that was not made are below 0. */
static tide_cell as_known_count(int64_t count) {
    return count >= 0 ? tide_as_count(count) : tide_as_none();
}

static const char *fits_word(const tide_program_fit_answer *answer) {
    return !answer->fits ? "no" : answer->result.program.is_near == 1 ? "near" : "yes";
}

static void add_row(const card_search *at, tide_table *table) {
    const tide_program_fit_answer *answer = &at->answer;
    const tide_run_result *result = &answer->result;
    TIDE_ROW(table, tide_as_text(at->grid->cards[at->card]),
             answer->fits ? tide_as_count((int64_t)answer->value) : tide_as_none(),
             tide_as_bytes(result->memory.allocated_peak_bytes),
             tide_as_bytes(result->memory.reserved_peak_bytes),
             tide_as_bytes(result->program.margin_bytes),
             answer->has_next ? tide_as_count((int64_t)answer->next_value) : tide_as_none(),
             as_known_count(result->program.n_steps), tide_as_ms(result->program.step_ms),
             as_known_count(result->program.n_inexact), tide_as_bytes(result->host_peak_bytes),
             tide_as_count((int64_t)answer->n_runs), tide_as_text(fits_word(answer)),
             answer->has_safe ? tide_as_count((int64_t)answer->safe_value) : tide_as_none());
}

static void add_figures(const card_search *first, tide_report *report) {
    const tide_program_fit_answer *answer = &first->answer;
    tide_report_figure_text(report, "run_by", "command");
    tide_report_figure_count(report, "largest", answer->fits ? (int64_t)answer->value : 0);
    tide_report_figure_count(report, "next", answer->has_next ? (int64_t)answer->next_value : -1);
    tide_report_figure_count(report, "runs", (int64_t)answer->n_runs);
    tide_report_figure_text(report, "fits", fits_word(answer));
    tide_report_figure_count(report, "largest_with_margin",
                             answer->has_safe ? (int64_t)answer->safe_value : 0);
    if (answer->fits) {
        const tide_run_memory *memory = &answer->result.memory;
        tide_report_figure_bytes(report, "allocated_peak_bytes", memory->allocated_peak_bytes);
        tide_report_figure_bytes(report, "reserved_peak_bytes", memory->reserved_peak_bytes);
        tide_report_figure_text(report, "fits_with_all_rows",
                                tide_fit_with_all_rows(&answer->result.program) ? "yes" : "no");
    }
}

/* Only if a run of an answer assumed values. */
static void add_assumed(const card_search *cards, size_t n_cards, tide_report *report) {
    tide_table *table = NULL;
    for (size_t i = 0; i < n_cards; i++) {
        const tide_run_of_program *program = &cards[i].answer.result.program;
        if (cards[i].answer.fits && program->assumed.n_reads > 0) {
            table = table != NULL ? table : tide_fit_assumed_table(report);
            tide_fit_add_assumed(cards[i].grid->cards[cards[i].card], program, table);
        }
    }
}

/* What a larger value needs is another question. */
static void say_plan(const card_search *cards, size_t n_cards, tide_report *report) {
    for (size_t i = 0; i < n_cards; i++) {
        if (cards[i].answer.has_next && !cards[i].answer.next_is_slow) {
            tide_report_say(report, "plan",
                            "if it trains a model with PyTorch, tidemark plan tries what would "
                            "make a larger value fit");
            return;
        }
    }
}

static tide_status print(const card_search *cards, size_t n_cards, tide_format format,
                         tide_error *error) {
    tide_report report;
    tide_report_init(&report, "fit");
    add_figures(&cards[0], &report);
    tide_table *table = tide_report_table(&report, "fits", "what fits");
    TIDE_COLUMNS(
        table, TIDE_TEXT("card", "card"),
        {"largest", tide_report_text(&report, "largest %s", cards[0].grid->sets[0].name), true},
        TIDE_NUMBER("allocated_peak_bytes", "allocated"),
        TIDE_NUMBER("reserved_peak_bytes", "reserved"), TIDE_NUMBER("margin_bytes", "left"),
        TIDE_NUMBER("next", "next"), TIDE_NUMBER("steps_done", "steps"),
        TIDE_NUMBER("forecast_step_ms", "step, forecast"),
        TIDE_NUMBER("inexact_calls", "inexact calls"), TIDE_NUMBER("host_peak_bytes", "host peak"),
        TIDE_NUMBER("runs", "runs"), TIDE_TEXT("fits", "fits"),
        TIDE_NUMBER("largest_with_margin", "with margin"));
    for (size_t i = 0; i < n_cards; i++) {
        add_row(&cards[i], table);
    }
    add_assumed(cards, n_cards, &report);
    for (size_t i = 0; i < n_cards; i++) {
        say_card(&cards[i], &report);
    }
    say_plan(cards, n_cards, &report);
    return tide_report_end(&report, TIDE_OK, format, error);
}

static tide_status answer(const tide_fit_options *options,
                          const tide_program_fit_question *question, tide_program_grid *grid,
                          int *ret_exit, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_progress progress;
    card_search *cards = tide_hostmem_zeroed(mem, grid->n_cards, sizeof(*cards));
    if (cards == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < grid->n_cards; i++) {
        cards[i] = (card_search){.grid = grid, .card = i, .progress = &progress};
    }
    tide_progress_begin(&progress, "fit");
    tide_status status = search_cards(question, cards, grid->n_cards, error);
    tide_progress_end(&progress);
    if (status == TIDE_OK) {
        status = print(cards, grid->n_cards, tide_format_chosen(&options->run.report), error);
    }
    for (size_t i = 0; status == TIDE_OK && i < grid->n_cards; i++) {
        *ret_exit = cards[i].answer.fits ? *ret_exit : TIDE_EXIT_DEVICE_OOM;
    }
    mem->release(mem->ctx, cards);
    return status;
}

int tide_fit_program(const tide_fit_options *options, const tide_option_table *table,
                     const tide_operands *operands, char *const *arguments) {
    tide_program_grid grid = {.n_cards = 0};
    tide_program_fit_question question = {.multiple_of = options->multiple_of};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_interrupt_begin("tidemark fit: stopping; Ctrl-C again ends at once\n");
    tide_status status = read_grid(options, table, operands, arguments, &grid, &question, &error);
    if (status == TIDE_OK) {
        status = answer(options, &question, &grid, &exit_status, &error);
    }
    tide_program_grid_fini(&grid);
    if (tide_interrupt_signal() != 0) {
        return TIDE_EXIT_SIGNAL + tide_interrupt_signal();
    }
    return status == TIDE_OK ? tide_cli_finish("fit", exit_status)
                             : tide_cli_refuse("fit", status, &error);
}
