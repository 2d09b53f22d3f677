/* tidemark sweep: runs each cell of a grid in a subprocess and prints one table. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/own_model.h"
#include "cli/options/report_options.h"
#include "cli/words/program_words.h"
#include "cli/sweep/internal.h"
#include "common/text/plural.h"
#include "programs/launch/launch.h"

/* sweep.jsonl, sweep-2-of-4.jsonl, sweep-cell-7.jsonl, or the path of -o. */
static tide_status name_file(const tide_sweep_options *options, size_t shard, size_t n_shards,
                             char path[TIDE_PATH_BYTES], tide_error *error) {
    int n = 0;
    if (options->grid.output != NULL) {
        n = snprintf(path, TIDE_PATH_BYTES, "%s", options->grid.output);
    } else if (options->cell != NULL) {
        n = snprintf(path, TIDE_PATH_BYTES, "sweep-cell-%zu.jsonl", shard - 1);
    } else if (n_shards > 1) {
        n = snprintf(path, TIDE_PATH_BYTES, "sweep-%zu-of-%zu.jsonl", shard, n_shards);
    } else {
        n = snprintf(path, TIDE_PATH_BYTES, "sweep.jsonl");
    }
    if (n <= 0 || n >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_INVALID, "-o: the name of the file is empty or too long");
    }
    return TIDE_OK;
}

static size_t count_failed(const tide_sweep *sweep) {
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++) {
        n += sweep->rows[i] != NULL && tide_sweep_is_failed(sweep->rows[i]);
    }
    return n;
}

static tide_status print(const tide_sweep_options *options, const tide_sweep *sweep,
                         tide_error *error) {
    return tide_sweep_print(sweep, tide_format_chosen(&options->grid.report), stdout, error);
}

/* ---- running ---- */

static tide_status check(const tide_sweep_options *options, tide_error *error) {
    if (options->retries && !options->resumes) {
        return tide_fail(error, TIDE_INVALID, "--retry needs --resume");
    }
    if (options->program.arguments == NULL) {
        TIDE_TRY(tide_own_model_here->check_options(&options->grid, error));
    }
    return options->snapshots != NULL ? tide_file_make_folder(options->snapshots, error) : TIDE_OK;
}

/* The file of rows must be neither the model nor the snapshot of a cell. If it exists, --resume
 * continues it. */
static tide_status check_files(const tide_sweep_options *options, const char *path,
                               const tide_sweep *sweep, tide_error *error) {
    const char *inputs[TIDE_OPTION_LIST_ITEMS + 1]; /* the models, then the rows */
    size_t n_models = tide_option_files_list(&options->grid.configs, inputs);
    inputs[n_models] = path;
    const tide_output rows = {
        .path = path, .content = TIDE_CONTENT_ROWS, .inputs = inputs, .n_inputs = n_models};
    TIDE_TRY(tide_output_check_name(&rows, error));
    for (size_t i = 0; options->snapshots != NULL && i < sweep->n_cells; i++) {
        char snapshot[TIDE_PATH_BYTES];
        const tide_output cell = {.path = snapshot,
                                  .name = TIDE_OUTPUT_AGAIN,
                                  .inputs = inputs,
                                  .n_inputs = n_models + 1};
        tide_run_config config;
        char name[TIDE_RUN_NAME_BYTES];
        if (!tide_sweep_owns(sweep, i)) {
            continue;
        }
        (void)!tide_sweep_configure(options, i, "", &config, NULL); /* a refused one has a name */
        tide_sweep_name_cell(options, i, &config.workload, name);
        TIDE_TRY(tide_sweep_name_snapshot(options, name, snapshot, error));
        TIDE_TRY(tide_output_check_name(&cell, error));
    }
    return TIDE_OK;
}

/* Cells that share a processor or a card would compete for time and memory. */
static tide_status check_jobs(const tide_sweep_options *options, tide_device_kind kind,
                              tide_error *error) {
    if (options->n_jobs < 1 || options->n_jobs > TIDE_SWEEP_MAX_JOBS) {
        return tide_fail(error, TIDE_INVALID, "--jobs %llu: must be 1 to %d",
                         (unsigned long long)options->n_jobs, (int)TIDE_SWEEP_MAX_JOBS);
    }
    if (options->n_jobs > 1 && kind != TIDE_DEVICE_VIRTUAL) {
        return tide_fail(error, TIDE_INVALID,
                         "--jobs %llu needs a virtual device: elsewhere cells that run at once "
                         "would take each other's time and memory",
                         (unsigned long long)options->n_jobs);
    }
    return TIDE_OK;
}

/* A sweep without rows, and the device on which it runs. */
static tide_status prepare(const tide_sweep_options *options, size_t shard, size_t n_shards,
                           char device[TIDE_RUN_SPEC_BYTES], tide_device_kind *ret_kind,
                           tide_sweep *sweep, tide_error *error) {
    cJSON *header = NULL;
    TIDE_TRY(check(options, error));
    /* A list of cells can be printed without their device. */
    if (options->program.arguments == NULL && options->lists && !options->resumes) {
        (void)snprintf(device, TIDE_RUN_SPEC_BYTES, "%s", options->grid.device);
    } else if (options->program.arguments == NULL) {
        TIDE_TRY(tide_own_model_here->pick_device("sweep", options->grid.device, device, ret_kind,
                                                  error));
    }
    if (!options->lists) {
        TIDE_TRY(check_jobs(options, *ret_kind, error));
    }
    TIDE_TRY(tide_sweep_header(options, device, shard, n_shards, &header, error));
    return tide_sweep_init(sweep, header, error);
}

static int finish(const tide_sweep *sweep, const char *path) {
    size_t n_missing = tide_sweep_n_missing(sweep);
    size_t n_failed = count_failed(sweep);
    if (n_missing > 0) {
        size_t n_cells = tide_sweep_n_owned(sweep);
        tide_cli_note("sweep",
                      "%zu of %zu %s no row in %s%s: the same command with --resume goes on",
                      n_missing, n_cells,
                      n_cells == 1 ? "cell has" : tide_plural(n_missing, "cells has", "cells have"),
                      path, n_missing < n_cells ? ", which keeps the others" : "");
    }
    if (tide_interrupt_signal() != 0) {
        return TIDE_EXIT_SIGNAL + tide_interrupt_signal();
    }
    return n_missing > 0 || n_failed > 0 ? TIDE_EXIT_FAILURE : TIDE_EXIT_SUCCESS;
}

/* Chooses the part of the grid to run, and the file of its rows. */
static tide_status choose_part(const tide_sweep_options *options, size_t *ret_shard,
                               size_t *ret_n_shards, char path[TIDE_PATH_BYTES],
                               tide_error *error) {
    if (options->cell != NULL && options->shard != NULL) {
        return tide_fail(error, TIDE_INVALID, "--cell and --shard exclude each other");
    }
    TIDE_TRY(tide_sweep_check_repeats(tide_sweep_n_once(options), options->n_repeats, error));
    TIDE_TRY(options->cell != NULL
                 ? tide_sweep_parse_cell(options->cell, tide_sweep_n_cells(options), ret_shard,
                                         ret_n_shards, error)
                 : tide_sweep_parse_shard(options->shard, ret_shard, ret_n_shards, error));
    return name_file(options, *ret_shard, *ret_n_shards, path, error);
}

/* Lists the cells to run in this part or, with --resume, the remaining ones. */
static int list_grid(const tide_sweep_options *options) {
    char path[TIDE_PATH_BYTES] = "";
    char device[TIDE_RUN_SPEC_BYTES] = "";
    tide_device_kind kind = TIDE_DEVICE_VIRTUAL;
    tide_sweep sweep = {.header = NULL};
    tide_error error = {""};
    size_t shard = 1;
    size_t n_shards = 1;
    tide_status status = choose_part(options, &shard, &n_shards, path, &error);
    if (status == TIDE_OK) {
        status = prepare(options, shard, n_shards, device, &kind, &sweep, &error);
    }
    if (status == TIDE_OK && options->resumes) {
        status = tide_sweep_look(path, &sweep, &error);
    }
    if (status == TIDE_OK) {
        if (options->retries) {
            (void)tide_sweep_forget_failed(&sweep);
        }
        status = tide_sweep_list(&sweep, stdout, &error);
    }
    tide_sweep_fini(&sweep);
    return tide_cli_finish("sweep", status == TIDE_OK ? TIDE_EXIT_SUCCESS
                                                      : tide_cli_refuse("sweep", status, &error));
}

static int run_grid(const tide_sweep_options *options) {
    char path[TIDE_PATH_BYTES] = "";
    char device[TIDE_RUN_SPEC_BYTES] = "";
    tide_device_kind kind = TIDE_DEVICE_VIRTUAL;
    tide_sweep sweep = {.header = NULL};
    tide_sweep_file file = {.fd = -1};
    tide_error error = {""};
    size_t shard = 1;
    size_t n_shards = 1;
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_interrupt_begin("tidemark sweep: stopping; finished rows are kept; Ctrl-C again ends at "
                         "once\n");
    tide_status status = choose_part(options, &shard, &n_shards, path, &error);
    if (status == TIDE_OK) {
        status = prepare(options, shard, n_shards, device, &kind, &sweep, &error);
    }
    if (status == TIDE_OK) {
        status = check_files(options, path, &sweep, &error);
    }
    if (status == TIDE_OK) {
        status = tide_sweep_file_open(path, options->resumes, &sweep, &file, &error);
    }
    if (status == TIDE_OK) {
        if (options->retries) {
            (void)tide_sweep_forget_failed(&sweep);
        }
        status = tide_sweep_run(options, device, kind, &sweep, &file, &error);
        tide_error unprinted = {""};
        /* Measured rows are printed even if the sweep could not continue. */
        tide_status printed = print(options, &sweep, &unprinted);
        exit_status = finish(&sweep, path);
        if (status == TIDE_OK && printed != TIDE_OK) {
            status = printed;
            error = unprinted;
        }
    }
    tide_sweep_file_close(&file);
    tide_sweep_fini(&sweep);
    if (status != TIDE_OK) {
        int failed = tide_cli_refuse("sweep", status, &error);
        exit_status = exit_status > TIDE_EXIT_SIGNAL ? exit_status : failed;
    }
    return tide_cli_finish("sweep", exit_status);
}

/* ---- joining ---- */

static tide_status check_merge(const tide_sweep_options *options, const tide_operands *operands,
                               tide_error *error) {
    const tide_option *other = tide_options_find_unused(
        tide_sweep_table(), operands, "merge list retry repeat o " TIDE_REPORT_OPTIONS);
    if (other != NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "--%s has no effect on --merge, which runs nothing: it takes -o, --list, "
                         "--repeat and --format, and its rows come from the files",
                         other->name);
    }
    if (options->retries && !options->lists) {
        return tide_fail(error, TIDE_INVALID, "--retry needs --list with --merge");
    }
    if (operands->n == 0) {
        return tide_fail(error, TIDE_INVALID, "--merge needs the files of the parts as arguments");
    }
    return TIDE_OK;
}

/* Names the cells without a row, at most a few of them, and the command that runs them. False if
 * there are none. */
static bool say_missing(const tide_sweep_options *options, const tide_sweep *sweep) {
    enum { N_NAMED = 8 };
    char text[N_NAMED * 12] = "";
    size_t n_used = 0;
    size_t n_named = 0;
    size_t first = sweep->n_cells;
    size_t n_missing = sweep->n_cells - sweep->n_rows;
    for (size_t i = 0; i < sweep->n_cells && n_named < N_NAMED; i++) {
        if (sweep->rows[i] == NULL) {
            first = first < sweep->n_cells ? first : i;
            int n =
                snprintf(text + n_used, sizeof(text) - n_used, "%s%zu", n_named > 0 ? ", " : "", i);
            n_used += n > 0 ? (size_t)n : 0;
            n_named++;
        }
    }
    if (n_missing == 0) {
        return false;
    }
    const char *name = tide_sweep_cell_name(sweep, first);
    tide_cli_note("sweep", "%zu of %zu cells have no row: %s%s%s%s", n_missing, sweep->n_cells,
                  text, n_named < n_missing ? ", ... (--list names all)" : "",
                  name[0] != '\0' ? "; the first is " : "", name);
    if (options->grid.output != NULL) {
        tide_cli_note("sweep", "the sweep's own command with --resume -o %s runs them",
                      options->grid.output);
    } else {
        tide_cli_note("sweep", "the sweep's own command with --cell %zu runs the first", first);
    }
    return true;
}

static int merge(const tide_sweep_options *options, const tide_operands *operands) {
    tide_sweep sweep = {.header = NULL};
    tide_error error = {""};
    tide_status status = check_merge(options, operands, &error);
    int exit_status = TIDE_EXIT_SUCCESS;
    if (status == TIDE_OK) {
        status = tide_options_is_given(tide_sweep_table(), operands, "repeat")
                     ? tide_sweep_merge_repeats(operands->texts, operands->n, options->n_repeats,
                                                &sweep, &error)
                     : tide_sweep_merge(operands->texts, operands->n, &sweep, &error);
    }
    if (status == TIDE_OK && options->grid.output != NULL) {
        const tide_output output = {.path = options->grid.output,
                                    .content = TIDE_CONTENT_ROWS,
                                    .inputs = operands->texts,
                                    .n_inputs = operands->n};
        status = tide_output_check(&output, &error);
    }
    if (status == TIDE_OK && options->grid.output != NULL) {
        status = tide_sweep_write(options->grid.output, &sweep, &error);
    }
    if (status == TIDE_OK && options->lists) {
        if (options->retries) {
            (void)tide_sweep_forget_failed(&sweep);
        }
        status = tide_sweep_list(&sweep, stdout, &error);
    } else if (status == TIDE_OK) {
        status = print(options, &sweep, &error);
        exit_status = say_missing(options, &sweep) || count_failed(&sweep) > 0 ? TIDE_EXIT_FAILURE
                                                                               : exit_status;
    }
    tide_sweep_fini(&sweep);
    if (status != TIDE_OK) {
        exit_status = tide_cli_fail("sweep", status, &error);
    }
    return tide_cli_finish("sweep", exit_status);
}

static int run_or_list(const tide_sweep_options *options) {
    return options->lists ? list_grid(options) : run_grid(options);
}

/* The grid of a user's command. */
static int run_program(tide_sweep_options *options, const tide_operands *operands,
                       tide_program_words *words, char **argv) {
    tide_error error = {""};
    tide_status status = tide_program_words_check(
        words,
        "tidemark sweep --device virtual:h100-80 --set batch=8,16 python train.py --batch {batch}; "
        "to join files, use --merge",
        &error);
    if (status == TIDE_OK) {
        status = tide_program_words_interpret(words, argv, &error);
    }
    if (status == TIDE_OK) {
        status = tide_sweep_take_program(options, operands, words->program, &error);
    }
    int exit_status =
        status == TIDE_OK ? run_or_list(options) : tide_cli_refuse("sweep", status, &error);
    tide_program_grid_fini(&options->program);
    return exit_status;
}

/* With --merge the operands are files, among which options may be. A "--merge" after the first word
 * that names a program is an argument of that program. */
static bool is_merge(const tide_program_words *words, int argc, char **argv) {
    bool is_program = words->program != NULL &&
                      (words->is_after_dashes || tide_launch_is_program(words->program[0]));
    int n = is_program ? words->n_own : argc;
    for (int i = 1; i < n; i++) {
        if (strcmp(argv[i], "--merge") == 0) {
            return true;
        }
    }
    return false;
}

int tide_sweep_main(int argc, char **argv) {
    const tide_own_model *own = tide_own_model_here;
    tide_program_words words = tide_program_words_find(tide_sweep_table(), argc, argv);
    bool merges = is_merge(&words, argc, argv);
    tide_sweep_options options = {
        .n_jobs = 1, .n_repeats = 1, .command = TIDE_PROGRAM_OPTIONS_DEFAULT};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    (own != NULL ? own->init_options : tide_run_options_init)(&options.grid);
    if (!tide_cli_parse(tide_sweep_table(), merges ? argc : words.n_own, argv, &options, &operands,
                        &exit_status)) {
        return exit_status;
    }
    if (options.merges) {
        return merge(&options, &operands);
    }
    if (words.program != NULL) {
        return run_program(&options, &operands, &words, argv);
    }
    if (options.sets.n > 0) {
        tide_cli_note("sweep", "--set needs a command after the options: python train.py --batch "
                               "{batch}");
        return TIDE_EXIT_USAGE;
    }
    tide_error error = {""};
    tide_status status = own != NULL
                             ? tide_program_options_refuse(tide_sweep_table(), &operands, &error)
                             : tide_own_model_refuse("no command follows the options", &error);
    return status == TIDE_OK ? run_or_list(&options) : tide_cli_refuse("sweep", status, &error);
}
