/* Sweeps of a user's command: their grid, and the sentences about their rows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/own_model.h"
#include "cli/sweep/internal.h"
#include "cli/time_runs.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "programs/runs/program.h"

#define KIND "program"

/* ---- the grid ---- */

static tide_status check_options(const tide_operands *operands, tide_error *error) {
    const tide_option *other = tide_options_find_unused(
        tide_sweep_table(), operands,
        "set device memory-limit spill steps o resume retry repeat shard cell jobs list "
        "snapshots strip-private " TIDE_PROGRAM_OPTIONS " " TIDE_REPORT_OPTIONS);
    return other == NULL ? TIDE_OK
                         : tide_fail(error, TIDE_INVALID,
                                     "--%s is about tidemark's own model, and a command "
                                     "follows the options: leave one of them out",
                                     other->name);
}

static int by_text(const void *a, const void *b) {
    const char *const *first = a;
    const char *const *second = b;
    return strcmp(*first, *second);
}

/* Cells must have distinct names: rows and snapshots are found by name. */
static tide_status check_names(const cJSON *names, size_t n_cells, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    const char **sorted = tide_hostmem_zeroed(mem, n_cells, sizeof(*sorted));
    const cJSON *name = NULL;
    size_t n = 0;
    if (sorted == NULL) {
        return TIDE_NO_MEMORY;
    }
    cJSON_ArrayForEach(name, names) {
        sorted[n++] = name->valuestring;
    }
    qsort(sorted, n, sizeof(*sorted), by_text);
    tide_status status = TIDE_OK;
    for (size_t i = 1; status == TIDE_OK && i < n; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = tide_fail(error, TIDE_INVALID,
                               "two cells of the grid would be called %s, as characters that "
                               "are not for files become _",
                               sorted[i]);
        }
    }
    mem->release(mem->ctx, sorted);
    return status;
}

static tide_status add_names(const tide_sweep_options *options, cJSON *names, size_t n_cells,
                             tide_error *error) {
    for (size_t i = 0; i < n_cells; i++) {
        tide_run_config config;
        char name[TIDE_RUN_NAME_BYTES];
        TIDE_TRY(tide_sweep_configure(options, i, "", &config, error));
        tide_sweep_name_cell(options, i, &config.workload, name);
        cJSON *item = cJSON_CreateString(name);
        if (item == NULL || !cJSON_AddItemToArray(names, item)) {
            return TIDE_NO_MEMORY;
        }
    }
    return check_names(names, n_cells, error);
}

tide_status tide_sweep_take_program(tide_sweep_options *options, const tide_operands *operands,
                                    char *const *arguments, tide_error *error) {
    tide_program_grid *grid = &options->program;
    TIDE_TRY(check_options(operands, error));
    TIDE_TRY(tide_program_add_cards(
        grid,
        tide_options_is_given(tide_sweep_table(), operands, "device") ? options->grid.device : NULL,
        error));
    for (size_t i = 0; i < options->sets.n; i++) {
        TIDE_TRY(tide_program_add_set(grid, options->sets.texts[i], error));
    }
    grid->memory_limit_bytes = options->grid.memory_limit_bytes;
    grid->spill_bytes = options->grid.spill_bytes;
    TIDE_TRY(tide_program_take_options(grid, "sweep", &options->command,
                                       tide_options_is_given(tide_sweep_table(), operands, "steps"),
                                       options->grid.steps, error));
    if (grid->memory_limit_bytes == 0) {
        return tide_fail(error, TIDE_INVALID, "--memory-limit 0: the limit must be above 0");
    }
    return tide_program_take_command(grid, arguments, "set", error);
}

static bool add_texts(cJSON *json, const char *key, const tide_option_list *list) {
    cJSON *array = cJSON_AddArrayToObject(json, key);
    bool is_complete = array != NULL;
    for (size_t i = 0; is_complete && i < list->n; i++) {
        is_complete = cJSON_AddItemToArray(array, cJSON_CreateString(list->texts[i])) != 0;
    }
    return is_complete;
}

/* They are part of the grid, so a file is not continued with others. */
static bool add_options(cJSON *json, const tide_program_options *options) {
    return cJSON_AddNumberToObject(json, "calls", (double)options->n_calls) != NULL &&
           cJSON_AddStringToObject(json, "values", options->values) != NULL &&
           cJSON_AddStringToObject(json, "streams", options->streams) != NULL &&
           cJSON_AddStringToObject(json, "writes", options->writes) != NULL &&
           (!options->wants_time || cJSON_AddTrueToObject(json, "time") != NULL) &&
           (options->host.factor <= 0.0 ||
            cJSON_AddNumberToObject(json, "host_factor", options->host.factor) != NULL);
}

static bool add_grid(cJSON *json, const tide_sweep_options *options) {
    const tide_program_grid *grid = &options->program;
    double limit =
        grid->memory_limit_bytes == TIDE_RUN_UNLIMITED ? -1.0 : (double)grid->memory_limit_bytes;
    bool is_complete =
        cJSON_AddStringToObject(json, "workload", KIND) != NULL &&
        cJSON_AddItemToObject(json, "command", cJSON_Parse(grid->command)) != 0 &&
        cJSON_AddStringToObject(json, "device", options->grid.device) != NULL &&
        cJSON_AddNumberToObject(json, "memory_limit_bytes", limit) != NULL &&
        (grid->spill_bytes == 0 ||
         cJSON_AddNumberToObject(json, "spill_bytes", (double)grid->spill_bytes) != NULL) &&
        cJSON_AddNumberToObject(json, "steps", (double)grid->n_steps) != NULL &&
        add_options(json, &grid->options) &&
        (grid->host[0] == '\0' || cJSON_AddStringToObject(json, "host", grid->host) != NULL) &&
        cJSON_AddBoolToObject(json, "recorded", options->snapshots != NULL) != NULL;
    cJSON *cards = is_complete ? cJSON_AddArrayToObject(json, "devices") : NULL;
    is_complete = cards != NULL;
    for (size_t i = 0; is_complete && i < grid->n_cards; i++) {
        is_complete = cJSON_AddItemToArray(cards, cJSON_CreateString(grid->cards[i])) != 0;
    }
    cJSON *sets = is_complete ? cJSON_AddObjectToObject(json, "set") : NULL;
    is_complete = sets != NULL;
    for (size_t i = 0; is_complete && i < grid->n_sets; i++) {
        is_complete = add_texts(sets, grid->sets[i].name, &grid->sets[i].values);
    }
    return is_complete;
}

tide_status tide_sweep_program_header(const tide_sweep_options *options, size_t shard,
                                      size_t n_shards, cJSON **ret_header, tide_error *error) {
    size_t n_cells = tide_sweep_n_cells(options);
    if (n_cells > TIDE_SWEEP_MAX_CELLS) {
        return tide_fail(error, TIDE_LIMIT,
                         "the grid has %zu cells, more than the limit of %d: split it", n_cells,
                         (int)TIDE_SWEEP_MAX_CELLS);
    }
    cJSON *header = cJSON_CreateObject();
    cJSON *json = NULL;
    cJSON *names = NULL;
    bool is_complete = cJSON_AddStringToObject(header, "format", TIDE_SWEEP_FORMAT) != NULL &&
                       cJSON_AddNumberToObject(header, "version", TIDE_SWEEP_VERSION) != NULL &&
                       cJSON_AddNumberToObject(header, "shard", (double)shard) != NULL &&
                       cJSON_AddNumberToObject(header, "shards", (double)n_shards) != NULL;
    json = is_complete ? cJSON_AddObjectToObject(header, "grid") : NULL;
    is_complete =
        json != NULL && add_grid(json, options) && tide_sweep_add_repeats(json, options->n_repeats);
    tide_status status = TIDE_NO_MEMORY;
    if (is_complete && options->cell != NULL) {
        status = cJSON_AddNumberToObject(header, "cells", (double)n_cells) != NULL ? TIDE_OK
                                                                                   : TIDE_NO_MEMORY;
    } else if (is_complete) {
        names = cJSON_AddArrayToObject(header, "cells");
    }
    if (names != NULL) {
        status = add_names(options, names, n_cells, error);
    }
    if (status != TIDE_OK) {
        cJSON_Delete(header);
        return status;
    }
    *ret_header = header;
    return TIDE_OK;
}

tide_status tide_sweep_configure(const tide_sweep_options *options, size_t cell, const char *device,
                                 tide_run_config *ret_config, tide_error *error) {
    cell %= tide_sweep_n_once(options);
    if (options->program.arguments == NULL) {
        return tide_own_model_here->configure(&options->grid, cell, device, ret_config, error);
    }
    tide_program_configure(&options->program, cell, ret_config);
    ret_config->recording.strip_private = options->grid.strip_private;
    return TIDE_OK;
}

/* ---- the rows ---- */

static const cJSON *grid_item(const tide_sweep *sweep, const char *key) {
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(sweep->header, "grid");
    return cJSON_GetObjectItemCaseSensitive(grid, key);
}

bool tide_sweep_is_program(const tide_sweep *sweep) {
    const char *kind = cJSON_GetStringValue(grid_item(sweep, "workload"));
    return kind != NULL && strcmp(kind, KIND) == 0;
}

/* Numbers are aligned right. */
static bool are_numbers(const cJSON *values) {
    const cJSON *value = NULL;
    cJSON_ArrayForEach(value, values) {
        const char *text = cJSON_GetStringValue(value);
        if (text == NULL || text[0] == '\0' || text[strspn(text, "0123456789.")] != '\0') {
            return false;
        }
    }
    return true;
}

void tide_sweep_value_columns(const tide_sweep *sweep, tide_table *table) {
    const cJSON *values = NULL;
    cJSON_ArrayForEach(values, grid_item(sweep, "set")) {
        TIDE_COLUMNS(table, {values->string, values->string, are_numbers(values)});
    }
}

void tide_sweep_value_cells(const tide_sweep *sweep, const tide_sweep_row *row, tide_table *table) {
    const cJSON *values = NULL;
    cJSON_ArrayForEach(values, grid_item(sweep, "set")) {
        char text[TIDE_OPTION_ITEM_BYTES];
        size_t n = 0;
        const char *value = tide_run_program_value(row->values, values->string, &n);
        (void)snprintf(text, sizeof(text), "%.*s", value != NULL ? (int)n : 0,
                       value != NULL ? value : "");
        TIDE_CELLS(table, tide_as_words(text));
    }
}

/* ", values zero": the options that are not the defaults. */
static const char *list_options(const tide_sweep *sweep, tide_report *report) {
    static const char *const USUAL[][2] = {
        {"values", "auto"}, {"streams", "now"}, {"writes", "scratch"}};
    const char *text = "";
    for (size_t i = 0; i < sizeof(USUAL) / sizeof(USUAL[0]); i++) {
        const char *value = cJSON_GetStringValue(grid_item(sweep, USUAL[i][0]));
        if (value != NULL && strcmp(value, USUAL[i][1]) != 0) {
            text = tide_report_text(report, "%s, %s %s", text, USUAL[i][0], value);
        }
    }
    return text;
}

/* The command as it was typed, without the shell's quotes. */
static void say_command(const tide_sweep *sweep, tide_report *report) {
    const char *text = "";
    const cJSON *argument = NULL;
    cJSON_ArrayForEach(argument, grid_item(sweep, "command")) {
        text = tide_report_text(report, "%s %s", text, cJSON_GetStringValue(argument));
    }
    double n_steps = cJSON_GetNumberValue(grid_item(sweep, "steps"));
    double limit = cJSON_GetNumberValue(grid_item(sweep, "memory_limit_bytes"));
    double n_calls = cJSON_GetNumberValue(grid_item(sweep, "calls"));
    const char *until = "its end";
    if (n_steps > 0.0) {
        until = tide_report_text(report, "%.0f %s of its optimizer", n_steps,
                                 tide_plural((uint64_t)n_steps, "step", "steps"));
    } else if (n_calls > 0.0) {
        until = tide_report_text(report, "%.0f %s of its outermost module", n_calls,
                                 tide_plural((uint64_t)n_calls, "call", "calls"));
    }
    double spill = cJSON_GetNumberValue(grid_item(sweep, "spill_bytes"));
    tide_report_say(report, "common", "every cell:%s, until %s%s%s%s%s; no kernel runs", text,
                    until, limit > 0.0 ? ", memory limit " : "",
                    limit > 0.0 ? tide_report_bytes(report, (int64_t)limit) : "",
                    spill > 0.0 ? tide_report_text(report, ", %s more in the host's memory",
                                                   tide_report_bytes(report, (int64_t)spill))
                                : "",
                    list_options(sweep, report));
}

/* The basis of the host's time in the forecasts: once for each sentence, for each card if there are
 * several. */
static void say_hosts(const tide_sweep *sweep, tide_report *report) {
    bool has_cards = tide_sweep_varies(sweep, "devices");
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const tide_sweep_row *row = sweep->rows[i];
        bool is_said = row == NULL || row->result.program.host[0] == '\0';
        for (size_t k = 0; k < i && !is_said; k++) {
            const tide_sweep_row *other = sweep->rows[k];
            is_said = other != NULL &&
                      strcmp(other->result.program.host, row->result.program.host) == 0 &&
                      strcmp(other->device, row->device) == 0;
        }
        if (!is_said) {
            tide_report_say(report, "host", "%s%s%s", has_cards ? row->device : "",
                            has_cards ? ": " : "", row->result.program.host);
        }
    }
}

/* Whether the row is the first of its card. */
static bool is_first_of_card(const tide_sweep *sweep, size_t cell) {
    for (size_t i = 0; i < cell; i++) {
        if (sweep->rows[i] != NULL &&
            strcmp(sweep->rows[i]->device, sweep->rows[cell]->device) == 0) {
            return false;
        }
    }
    return true;
}

/* The guessed part of the forecasts, for each card. */
static void say_forecasts(const tide_sweep *sweep, tide_report *report) {
    bool has_cards = tide_sweep_varies(sweep, "devices");
    for (size_t i = 0; i < sweep->n_cells; i++) {
        if (sweep->rows[i] == NULL || !is_first_of_card(sweep, i)) {
            continue;
        }
        const char *card = sweep->rows[i]->device;
        char words[TIDE_TIME_WORDS];
        tide_time_runs forecasts = {.n = 0};
        for (size_t k = i; k < sweep->n_cells; k++) {
            if (sweep->rows[k] != NULL && strcmp(sweep->rows[k]->device, card) == 0) {
                tide_time_runs_add(&forecasts, &sweep->rows[k]->result);
            }
        }
        if (forecasts.n > 0) {
            tide_time_runs_command_words(&forecasts, card, words);
            tide_report_say(report, "basis", "%s%s%s", has_cards ? card : "", has_cards ? ": " : "",
                            words);
        }
    }
}

/* Cells that fit, but would not with all rows that assumed values could have given. */
static void say_assumed(const tide_sweep *sweep, tide_report *report) {
    int64_t n = 0;
    const char *place = "";
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const tide_sweep_row *row = sweep->rows[i];
        const tide_run_of_program *of = row != NULL ? &row->result.program : NULL;
        if (of != NULL && of->margin_bytes >= 0 && of->assumed.all_bytes > of->margin_bytes) {
            place = n++ == 0 ? of->assumed.place : place;
        }
    }
    if (n > 0) {
        tide_report_say(report, "assumed",
                        "%" PRId64 " %s with the rows that are assumed, but not with all possible "
                        "rows, such as those at %s: tidemark run with the same command prints how "
                        "many fit",
                        n, tide_plural((uint64_t)n, "cell fits", "cells fit"), place);
    }
}

enum { MOST_NEAR = 4, NAMES_BYTES = 512 };

/* Cells that fit, and leave less than what is not measured. */
static void say_near(const tide_sweep *sweep, tide_report *report) {
    char names[NAMES_BYTES];
    tide_text text = tide_text_in(names, sizeof(names));
    int64_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const tide_sweep_row *row = sweep->rows[i];
        if (row != NULL && row->result.outcome == TIDE_OUTCOME_COMPLETED &&
            row->result.program.is_near == 1 && n++ < MOST_NEAR) {
            tide_text_add_item(&text, ", ", "%s", row->name);
        }
    }
    if (n > 0) {
        tide_report_say(report, "near",
                        "%" PRId64
                        " %s near the limit: what is not measured (the card's context, or "
                        "the largest work areas of cuDNN) may need more than is left: %s%s",
                        n, tide_plural((uint64_t)n, "cell fits", "cells fit"), names,
                        n > MOST_NEAR ? " and others" : "");
    }
}

void tide_sweep_say_program(const tide_sweep *sweep, tide_report *report) {
    int64_t n_inexact = 0;
    say_command(sweep, report);
    say_forecasts(sweep, report);
    say_hosts(sweep, report);
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const tide_sweep_row *row = sweep->rows[i];
        if (row == NULL) {
            continue;
        }
        n_inexact += row->result.program.n_inexact > 0;
        if (row->result.program.growing_passes >= 0) {
            tide_report_say(report, "growing",
                            "%s: memory still grows after %" PRId64
                            " passes of a loop, by %s each time",
                            row->name, row->result.program.growing_passes,
                            tide_report_bytes(report, row->result.program.growing_bytes));
        }
    }
    say_near(sweep, report);
    say_assumed(sweep, report);
    if (n_inexact > 0) {
        tide_report_say(report, "inexact",
                        "%" PRId64 " %s calls whose memory is not known exactly, or that were "
                        "refused: tidemark run with the same command names them",
                        n_inexact, tide_plural((uint64_t)n_inexact, "cell has", "cells have"));
    }
}
