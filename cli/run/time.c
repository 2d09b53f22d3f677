/* The forecast of time at the end of a run, and the launch logs on which it is based. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/run/internal.h"
#include "cli/words/time_words.h"
#include "common/files/output_file.h"
#include "programs/launch/names.h"
#include "programs/launch/time.h"

tide_status tide_run_check_time(const tide_run_command_options *options, const char *cards,
                                tide_error *error) {
    bool names_host = options->host.file != NULL || options->host.factor > 0.0;
    if (names_host && !options->wants_time && strcmp(options->clock, "virtual") != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--host and --host-factor are for a forecast of time: add --time or "
                         "--clock virtual");
    }
    if (options->wants_time) {
        tide_host_choice host;
        TIDE_TRY(tide_host_choose(&options->host, TIDE_COMMAND_RUN, &host, error));
        TIDE_TRY(tide_host_check_cards("--time", cards, error));
    }
    if (options->launch_log == NULL) {
        return TIDE_OK;
    }
    const tide_output output = {.path = options->launch_log, .content = TIDE_CONTENT_LAUNCHES};
    return tide_output_check(&output, error);
}

/* ---- the answer ---- */

/* `whose`: " of rank 3", or "". */
static void tell(const tide_time_forecast *of, const char *whose) {
    char words[TIDE_TIME_WORDS];
    tide_time_words_step(of, words);
    tide_cli_note(TIDE_COMMAND_RUN, "forecast of time%s: %s", whose, words);
    tide_time_words_phases(of, words);
    if (words[0] != '\0') {
        tide_cli_note(TIDE_COMMAND_RUN, "forecast of phases, each by itself: %s", words);
    }
    tide_time_words_basis(of, words);
    tide_cli_note(TIDE_COMMAND_RUN, "the forecast is a model: %s", words);
    tide_time_words_host(of, words);
    tide_cli_note(TIDE_COMMAND_RUN, "%s", words);
}

/* The caller finishes `made`, also after a failure; it borrows from the host. */
static tide_status make(const tide_run_answer *of, const tide_left *process, const tide_card *card,
                        tide_host_choice *host, tide_launch_time *made, tide_error *error) {
    *made = (tide_launch_time){.log = {.mem = NULL}};
    TIDE_TRY(tide_host_choose(&of->options->host, NULL, host, error));
    return tide_launch_time_init(process->launches_path, card, &host->host, made, error);
}

/* ---- the ranks of a job ---- */

/* The time of a step on a rank, without the others. */
typedef struct rank_time {
    int64_t rank;
    tide_run_place at;
    double us; /* the likely time, or the lower bound */
    char range[TIDE_TIME_WORDS];
} rank_time;

/* False if the rank has no forecast. */
static bool time_of_rank(const tide_run_answer *of, size_t process, rank_time *ret) {
    tide_card card;
    tide_launch_time made;
    tide_host_choice host;
    const tide_left *left = of->processes[process].left;
    const tide_run_place at = {process, tide_run_fullest_card(of, process)};
    if (left->launches_path == NULL || left->rank < 0 ||
        !tide_launch_card(of->config->cards, at.device, &card)) {
        return false;
    }
    tide_status status = make(of, left, &card, &host, &made, NULL);
    if (status == TIDE_OK) {
        *ret = (rank_time){.rank = left->rank, .at = at, .us = tide_launch_step_us(&made)};
        tide_time_words_range(&made.forecast, ret->range);
    }
    tide_launch_time_fini(&made);
    return status == TIDE_OK;
}

/* The ranks of a job wait for each other, so the slowest sets the pace. The model has no such
 * waits: each rank is forecast separately. Returns the number of ranks with a forecast. */
static size_t find_slowest(const tide_run_answer *of, rank_time *ret_fastest,
                           rank_time *ret_slowest) {
    size_t n = 0;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        rank_time now;
        if (time_of_rank(of, i, &now)) {
            *ret_fastest = n == 0 || now.us < ret_fastest->us ? now : *ret_fastest;
            *ret_slowest = n == 0 || now.us > ret_slowest->us ? now : *ret_slowest;
            n++;
        }
    }
    return n;
}

/* ---- the report ---- */

static void tell_of(const tide_run_answer *of, tide_run_place at, const char *whose) {
    tide_card card;
    tide_error error = {""};
    tide_launch_time made;
    tide_host_choice host;
    const tide_left *process = of->processes[at.process].left;
    if (!tide_launch_card(of->config->cards, at.device, &card)) {
        return;
    }
    if (process->launches_path == NULL) {
        tide_cli_note(TIDE_COMMAND_RUN, "no time is forecast: the program launched no kernels");
        return;
    }
    tide_status status = make(of, process, &card, &host, &made, &error);
    if (status == TIDE_OK) {
        tell(&made.forecast, whose);
    } else {
        tide_cli_note(TIDE_COMMAND_RUN, "no time is forecast: %s",
                      error.message[0] != '\0' ? error.message : tide_status_text(status));
    }
    tide_launch_time_fini(&made);
}

/* The given process, or the first process that launched anything if the given one did not: one
 * process may allocate memory that another uses. */
static tide_run_place launching_place(const tide_run_answer *of, tide_run_place at) {
    bool launches = of->processes[at.process].left->launches_path != NULL;
    for (size_t i = 0; !launches && i < of->list->n_processes; i++) {
        if (of->processes[i].left->launches_path != NULL) {
            return (tide_run_place){i, tide_run_fullest_card(of, i)};
        }
    }
    return at;
}

void tide_run_tell_time(const tide_run_answer *of, tide_run_place at) {
    rank_time fastest;
    rank_time slowest;
    char whose[64];
    if (!of->options->wants_time) {
        return;
    }
    size_t n = tide_run_is_job(of) ? find_slowest(of, &fastest, &slowest) : 0;
    if (n == 0) {
        tide_run_place launching = launching_place(of, at);
        (void)snprintf(whose, sizeof(whose), " of process %lld",
                       (long long)of->processes[launching.process].left->pid);
        tell_of(of, launching, launching.process != at.process ? whose : "");
        return;
    }
    (void)snprintf(whose, sizeof(whose), " of rank %lld%s", (long long)slowest.rank,
                   n > 1 ? ", the slowest" : "");
    tell_of(of, slowest.at, whose);
    if (n > 1) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "each rank is forecast by itself: a step takes %s on rank %lld, the fastest; "
                      "ranks that work together all take as long as the slowest",
                      fastest.range, (long long)fastest.rank);
    }
}

tide_status tide_run_add_time(const tide_run_answer *of, size_t process, tide_snapshot *snapshot) {
    tide_card card;
    tide_launch_time made;
    tide_host_choice host;
    const tide_left *left = of->processes[process].left;
    if (!of->options->wants_time || left->launches_path == NULL ||
        !tide_launch_card(of->config->cards, tide_run_fullest_card(of, process), &card)) {
        return TIDE_OK;
    }
    tide_status status = make(of, left, &card, &host, &made, NULL);
    bool is_made = status == TIDE_OK;
    if (is_made) {
        status = tide_launch_add_time(snapshot, &made.model, &made.ranges, &made.forecast);
    }
    tide_launch_time_fini(&made);
    return is_made || status == TIDE_NO_MEMORY ? status : TIDE_OK;
}

/* ---- the logs ---- */

static tide_status copy(FILE *from, const char *from_path, tide_output_file *to,
                        tide_error *error) {
    char bytes[1 << 16];
    size_t n = 0;
    while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0) {
        (void)tide_output_file_write(to, bytes, n); /* commit reports the failure */
    }
    return ferror(from) == 0
               ? TIDE_OK
               : tide_fail(error, TIDE_IO, "%s: it cannot be read to its end", from_path);
}

static tide_status copy_file(const char *from_path, const char *to_path, tide_error *error) {
    tide_output_file to;
    FILE *from = fopen(from_path, "rbe");
    if (from == NULL) {
        return tide_fail(error, TIDE_IO, "%s: %s", from_path, strerror(errno));
    }
    tide_status status = tide_output_file_open(to_path, &to, error);
    if (status == TIDE_OK) {
        status = copy(from, from_path, &to, error);
        if (status == TIDE_OK) {
            status = tide_output_file_commit(&to, error);
        } else {
            tide_output_file_abandon(&to);
        }
    }
    (void)fclose(from); /* was only read */
    return status;
}

tide_status tide_run_keep_launches(const tide_run_answer *of, tide_error *error) {
    const char *wanted = of->options->launch_log;
    char first[TIDE_PATH_BYTES] = "";
    size_t n_kept = 0;
    for (size_t i = 0; wanted != NULL && i < of->list->n_processes; i++) {
        char path[TIDE_PATH_BYTES];
        const tide_left *process = of->processes[i].left;
        if (process->launches_path == NULL) {
            continue;
        }
        TIDE_TRY(tide_launch_name_snapshot(wanted, of->list, i, path, sizeof(path), error));
        TIDE_TRY(copy_file(process->launches_path, path, error));
        if (n_kept == 0) {
            memcpy(first, path, sizeof(first));
        }
        n_kept++;
    }
    if (wanted != NULL && n_kept == 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "there is no launch log: the program launched no kernels");
    } else if (n_kept == 1) {
        tide_cli_note(TIDE_COMMAND_RUN, "the launch log is kept; `tidemark time %s` reads it",
                      first);
    } else if (n_kept > 1) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "%zu launch logs are kept; `tidemark time %s` reads the first", n_kept,
                      first);
    }
    return TIDE_OK;
}
