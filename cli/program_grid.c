#include "cli/program_grid.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "programs/launch/cards.h"
#include "programs/launch/launch.h"
#include "programs/runs/program.h"

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char REST[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";

tide_status tide_program_take_command(tide_program_grid *grid, char *const *arguments,
                                      const char *option, tide_error *error) {
    if (arguments[0] == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "no command follows --: write python train.py and its arguments");
    }
    for (size_t i = 0; i < grid->n_sets; i++) {
        const char *name = grid->sets[i].name;
        if (!tide_run_program_uses(arguments, name)) {
            return tide_fail(error, TIDE_INVALID,
                             "--%s %s: no argument of the command has {%s}, so that nothing would "
                             "change: write {%s} where its value belongs",
                             option, name, name, name);
        }
    }
    const tide_launch_config launching = {.arguments = arguments};
    TIDE_TRY(tide_launch_check(&launching, error));
    grid->arguments = arguments;
    grid->command = tide_run_program_command(arguments);
    return grid->command != NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the command");
}

void tide_program_grid_fini(tide_program_grid *grid) {
    cJSON_free(grid->command);
    grid->command = NULL;
}

/* ---- cards ---- */

static tide_status add_card(tide_program_grid *grid, const char *text, size_t n,
                            tide_error *error) {
    char cards[TIDE_LAUNCH_CARDS_BYTES];
    char *card = grid->cards[grid->n_cards];
    if (n == 0 || n >= TIDE_RUN_NAME_BYTES || grid->n_cards >= TIDE_PROGRAM_MAX_CARDS - 1) {
        return tide_fail(error, n == 0 ? TIDE_INVALID : TIDE_LIMIT,
                         "--device must be 1 to %d cards such as virtual:h100-80, separated by "
                         "commas; '%.200s' is too long, empty or one too many",
                         TIDE_PROGRAM_MAX_CARDS - 1, text);
    }
    (void)snprintf(card, TIDE_RUN_NAME_BYTES, "%.*s", (int)n, text);
    TIDE_TRY(tide_launch_cards(card, cards, error));
    for (size_t i = 0; i < grid->n_cards; i++) {
        if (strcmp(grid->cards[i], card) == 0) {
            return tide_fail(error, TIDE_INVALID, "--device: %s stands there twice", card);
        }
    }
    grid->n_cards++;
    return TIDE_OK;
}

tide_status tide_program_add_cards(tide_program_grid *grid, const char *text, tide_error *error) {
    if (text == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "a command runs on virtual cards: name them with --device "
                         "virtual:h100-80");
    }
    for (const char *at = text; at != NULL;) {
        size_t n = strcspn(at, ",");
        TIDE_TRY(add_card(grid, at, n, error));
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return TIDE_OK;
}

/* ---- names ---- */

/* Reads NAME= and declares it. */
static tide_status add_name(tide_program_grid *grid, const char *option, const char *text,
                            const char **ret_values, tide_error *error) {
    size_t n = strcspn(text, "=");
    if (text[n] != '=' || n == 0 || n >= TIDE_PROGRAM_NAME_BYTES ||
        strchr(LETTERS, text[0]) == NULL || strspn(text, REST) < n) {
        return tide_fail(error, TIDE_INVALID,
                         "--%s %.64s: must begin with a name of up to %d letters and digits, and "
                         "=: %s",
                         option, text, TIDE_PROGRAM_NAME_BYTES - 1,
                         strcmp(option, "set") == 0 ? "batch=8,16" : "batch=1..4096");
    }
    if (grid->n_sets >= TIDE_PROGRAM_MAX_NAMES) {
        return tide_fail(error, TIDE_LIMIT, "--%s may declare at most %d names", option,
                         (int)TIDE_PROGRAM_MAX_NAMES);
    }
    tide_program_set *set = &grid->sets[grid->n_sets];
    *set = (tide_program_set){.values = {.n = 0}};
    (void)snprintf(set->name, sizeof(set->name), "%.*s", (int)n, text);
    for (size_t i = 0; i < grid->n_sets; i++) {
        if (strcmp(grid->sets[i].name, set->name) == 0) {
            return tide_fail(error, TIDE_INVALID, "--%s %s is declared twice", option, set->name);
        }
    }
    grid->n_sets++;
    *ret_values = text + n + 1;
    return TIDE_OK;
}

static tide_status add_value(tide_program_set *set, const char *text, size_t n, tide_error *error) {
    tide_option_list *values = &set->values;
    while (n > 0 && isspace((unsigned char)text[0]) != 0) {
        text++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)text[n - 1]) != 0) {
        n--;
    }
    if (n == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--set %s: a value is empty: write values separated by commas: %s=8,16",
                         set->name, set->name);
    }
    if (n >= TIDE_OPTION_ITEM_BYTES || values->n >= TIDE_OPTION_LIST_ITEMS) {
        return tide_fail(error, TIDE_LIMIT,
                         "--set %s: must have 1 to %d values of up to %d bytes, separated by "
                         "commas: %s=8,16",
                         set->name, (int)TIDE_OPTION_LIST_ITEMS, TIDE_OPTION_ITEM_BYTES - 1,
                         set->name);
    }
    (void)snprintf(values->texts[values->n], TIDE_OPTION_ITEM_BYTES, "%.*s", (int)n, text);
    for (size_t i = 0; i < values->n; i++) {
        if (strcmp(values->texts[i], values->texts[values->n]) == 0) {
            return tide_fail(error, TIDE_INVALID, "--set %s: %s stands there twice", set->name,
                             values->texts[i]);
        }
    }
    values->n++;
    return TIDE_OK;
}

/* Whether the longest values of all names have room in one run. */
static tide_status check_room(const tide_program_grid *grid, tide_error *error) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < grid->n_sets; i++) {
        const tide_program_set *set = &grid->sets[i];
        size_t n_longest = 0;
        for (size_t k = 0; k < set->values.n; k++) {
            size_t n = strlen(set->values.texts[k]);
            n_longest = n > n_longest ? n : n_longest;
        }
        n_bytes += strlen(set->name) + n_longest + 2;
    }
    /* The card precedes them in the name of a cell. */
    return n_bytes <= TIDE_RUN_NAME_BYTES / 2
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT,
                           "--set: the names and values of a run may have %d bytes together",
                           TIDE_RUN_NAME_BYTES / 2);
}

tide_status tide_program_add_set(tide_program_grid *grid, const char *text, tide_error *error) {
    const char *at = NULL;
    TIDE_TRY(add_name(grid, "set", text, &at, error));
    while (at != NULL) {
        size_t n = strcspn(at, ",");
        TIDE_TRY(add_value(&grid->sets[grid->n_sets - 1], at, n, error));
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return check_room(grid, error);
}

tide_status tide_program_add_range(tide_program_grid *grid, const char *text, uint64_t *ret_low,
                                   uint64_t *ret_high, tide_error *error) {
    const char *at = "";
    uint64_t ends[2] = {0, 0};
    TIDE_TRY(add_name(grid, "vary", text, &at, error));
    for (size_t i = 0; i < 2; i++) {
        char *end = NULL;
        errno = 0;
        bool is_digit = at[0] >= '0' && at[0] <= '9';
        ends[i] = is_digit ? strtoull(at, &end, 10) : 0;
        if (!is_digit || errno != 0 || ends[i] > (uint64_t)INT64_MAX ||
            strncmp(end, i == 0 ? ".." : "", 2) != 0) {
            return tide_fail(error, TIDE_INVALID,
                             "--vary %.64s: must be a name and two whole numbers: batch=1..4096",
                             text);
        }
        at = end + 2;
    }
    if (ends[0] > ends[1]) {
        return tide_fail(error, TIDE_INVALID,
                         "--vary %.64s: the first number must not be above the second", text);
    }
    *ret_low = ends[0];
    *ret_high = ends[1];
    return TIDE_OK;
}

/* ---- options ---- */

/* The option that requests a forecast of time. */
static const char *time_option(const char *command) {
    return strcmp(command, "fit") == 0 ? "--max-step-ms" : "--time";
}

static tide_status take_host(tide_program_grid *grid, const char *command, tide_error *error) {
    tide_host_choice chosen;
    TIDE_TRY(tide_host_choose(&grid->options.host, command, &chosen, error));
    (void)snprintf(grid->own_calibration, sizeof(grid->own_calibration), "%s", chosen.own_path);
    if (grid->options.host.file != NULL) {
        (void)snprintf(grid->host, sizeof(grid->host), "%s with %s, %s", chosen.target.cpu,
                       chosen.target.gpu.name, chosen.target.made);
    }
    for (size_t i = 0; i < grid->n_cards; i++) {
        char cards[TIDE_LAUNCH_CARDS_BYTES];
        TIDE_TRY(tide_launch_cards(grid->cards[i], cards, error));
        TIDE_TRY(tide_host_check_cards(time_option(command), cards, error));
    }
    return TIDE_OK;
}

tide_status tide_program_take_options(tide_program_grid *grid, const char *command,
                                      const tide_program_options *options, bool has_steps,
                                      uint64_t n_steps, tide_error *error) {
    TIDE_TRY(tide_program_options_check(options, has_steps ? n_steps : 0, error));
    grid->options = *options;
    if (options->wants_time) {
        TIDE_TRY(take_host(grid, command, error));
    } else if (options->host.file != NULL || options->host.factor > 0.0) {
        return tide_fail(error, TIDE_INVALID,
                         "--host and --host-factor are for a forecast of time: add %s",
                         time_option(command));
    }
    grid->n_steps = has_steps ? n_steps : options->n_calls > 0 ? 0 : TIDE_PROGRAM_STEPS;
    return TIDE_OK;
}

/* ---- cells ---- */

size_t tide_program_n_cells(const tide_program_grid *grid) {
    size_t n = grid->n_cards;
    for (size_t i = 0; i < grid->n_sets; i++) {
        n *= grid->sets[i].values.n; /* at most 16^9, which fits */
    }
    return n;
}

/* "h100-80": the card without the common prefix of card names. */
static void name_card(const tide_program_grid *grid, size_t card, tide_run_program *program) {
    const char *name = grid->cards[card] + strlen("virtual:");
    if (grid->n_cards > 1) {
        (void)snprintf(program->card, TIDE_RUN_NAME_BYTES / 2, "%s", name);
    }
}

void tide_program_configure(const tide_program_grid *grid, size_t cell,
                            tide_run_config *ret_config) {
    size_t chosen[TIDE_PROGRAM_MAX_NAMES] = {0};
    for (size_t i = grid->n_sets; i > 0; i--) {
        size_t n = grid->sets[i - 1].values.n;
        chosen[i - 1] = cell % n;
        cell /= n;
    }
    tide_run_config_init(ret_config);
    ret_config->limits.device = grid->cards[cell];
    ret_config->limits.memory_limit_bytes = grid->memory_limit_bytes;
    ret_config->limits.spill_bytes = grid->spill_bytes;
    tide_run_program *program = &ret_config->workload.of.program;
    *program = (tide_run_program){
        .command = grid->command,
        .n_steps = grid->n_steps,
        .n_calls = grid->options.n_calls,
        .reads = grid->options.values,
        .streams = grid->options.streams,
        .writes_are_real = strcmp(grid->options.writes, "allow") == 0,
        .forecasts_time = grid->options.wants_time,
        .own_calibration = grid->own_calibration[0] != '\0' ? grid->own_calibration : NULL,
        .calibration = grid->options.host.file,
        .host_factor = grid->options.host.factor};
    name_card(grid, cell, program);
    size_t n_used = 0;
    for (size_t i = 0; i < grid->n_sets; i++) {
        int n =
            snprintf(program->values + n_used, sizeof(program->values) - n_used, "%s%s=%s",
                     i > 0 ? "," : "", grid->sets[i].name, grid->sets[i].values.texts[chosen[i]]);
        n_used += n > 0 ? (size_t)n : 0; /* check_room has ensured the room */
    }
}
