/* Runs a user's command on a virtual card, and makes the result from the files that it left. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/document/document.h"
#include "programs/launch/names.h"
#include "programs/launch/left/peaks.h"
#include "programs/runs/program.h"
#include "programs/runs/program_run.h"
#include "programs/runs/work_areas.h"
#include "snapshot/explain/assumed.h"

enum { ERROR_BYTES = 8192, FD_PATH_BYTES = 64 };

_Static_assert((int)TIDE_RUN_HOST_BYTES == (int)TIDE_TIME_HOST_WORDS, "the sentence has room");

static bool go_on(void *ctx) {
    const tide_run_hooks *hooks = ((tide_run_of_command *)ctx)->hooks;
    if (hooks->tick != NULL) {
        hooks->tick(hooks->ctx);
    }
    return hooks->shall_stop != NULL && hooks->shall_stop(hooks->ctx);
}

static void take_options(const tide_run_program *program, tide_launch_config *launching) {
    launching->n_steps = program->n_steps;
    launching->n_calls = program->n_calls;
    launching->values = program->reads != NULL ? program->reads : launching->values;
    launching->streams = program->streams != NULL ? program->streams : launching->streams;
    launching->changes = program->changes;
    launching->sets = program->sets;
    launching->allocator_settings = program->settings;
    launching->waits_asleep = program->waits_asleep;
    launching->writes_are_real = program->writes_are_real;
    launching->logs_launches = program->forecasts_time;
}

/* A job of ranks, of which some run. */
static tide_status take_ranks(tide_run_of_command *run, tide_error *error) {
    const tide_run_program *program = &run->config->workload.of.program;
    run->launching.world = (int64_t)program->world;
    run->launching.ranks = program->world > 0 ? &run->ranks : NULL;
    return program->world > 0
               ? tide_ranks_parse(program->ranks, (int64_t)program->world, &run->ranks, error)
               : TIDE_OK;
}

/* Before the program runs, so an unreadable calibration costs no time. */
static tide_status read_host(tide_run_of_command *run, tide_error *error) {
    const tide_run_program *program = &run->config->workload.of.program;
    tide_run_host *to = &run->host;
    bool has_own = program->own_calibration != NULL;
    bool has_target = program->calibration != NULL;
    if (has_own) {
        TIDE_TRY(tide_calibration_read(program->own_calibration, &to->own, error));
    }
    if (has_target) {
        TIDE_TRY(tide_calibration_read(program->calibration, &to->target, error));
    }
    return tide_time_host_of(&TIDE_TIME_CONSTANTS, has_own ? &to->own : NULL,
                             has_target ? &to->target : NULL, program->host_factor, &to->host,
                             error);
}

/* Starts the program and waits for its end. */
static tide_status launch(tide_run_of_command *run, char **arguments, tide_error *error) {
    const tide_run_limits *limits = &run->config->limits;
    const tide_run_program *program = &run->config->workload.of.program;
    char path[FD_PATH_BYTES];
    TIDE_TRY(tide_launch_cards(limits->device, run->cards, error));
    run->errors = tmpfile(); /* unnamed, so no file can remain */
    if (run->errors == NULL) {
        return tide_fail(error, TIDE_IO, "no file for the error output of the program");
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(run->errors));
    tide_launch_config_init(&run->launching);
    run->launching.arguments = arguments;
    run->launching.cards = run->cards;
    if (limits->memory_limit_bytes != TIDE_RUN_UNLIMITED) {
        run->launching.memory_bytes = limits->memory_limit_bytes;
    }
    run->launching.spill_bytes = limits->spill_bytes;
    if (program->world == 0) { /* otherwise what communicators take is part of the answer */
        run->launching.nccl_bytes = 0;
    }
    take_options(program, &run->launching);
    TIDE_TRY(take_ranks(run, error));
    run->launching.output = "/dev/null";
    run->launching.errors = path;
    run->launching.shall_stop = go_on;
    run->launching.ctx = run;
    tide_status status = tide_launch_run(&run->launching, &run->launch, error);
    run->launching.errors = NULL;
    return status;
}

/* ---- the files that it left ---- */

static void read_failure(tide_run_of_command *run, const tide_snapshot *snapshot) {
    int64_t event = tide_left_first_failure(snapshot);
    if (snapshot != NULL && event >= 0) {
        run->failure_asked_bytes =
            (int64_t)tide_bytes_at(&snapshot->events.requested_bytes, (size_t)event);
        run->failure_free_bytes =
            (int64_t)tide_bytes_at(&snapshot->events.block_bytes, (size_t)event);
    }
}

/* Takes the peaks and the history of a process if it is the fullest so far. */
static void compare_process(tide_run_of_command *run, size_t number, tide_snapshot **snapshot,
                            const tide_summary *summary) {
    const tide_left *process = &run->left.processes[number];
    tide_run_memory *memory = &run->result->memory;
    for (size_t d = 0; d < process->n_devices; d++) {
        int64_t reserved_bytes = tide_left_reserved_peak(process, summary, d);
        if (reserved_bytes <= memory->reserved_peak_bytes) {
            continue;
        }
        memory->reserved_peak_bytes = reserved_bytes;
        memory->allocated_peak_bytes = tide_left_allocated_peak(process, summary, d);
        memory->n_retries = process->peaks[d].n_retries;
        run->process = number;
        run->device = d;
        if (*snapshot != NULL) {
            tide_snapshot_destroy(run->snapshot);
            run->snapshot = *snapshot;
            (void)snprintf(run->result->snapshot_path, sizeof(run->result->snapshot_path), "%s",
                           run->saved_path);
            *snapshot = NULL;
        }
    }
}

/* Each of several processes has its own file, whose name could not be checked before the run. An
 * existing file that is not a snapshot belongs to the user. */
static tide_status check_free(const char *path, tide_error *error) {
    tide_snapshot *older = NULL;
    FILE *file = fopen(path, "rbe");
    bool is_there = file != NULL && fgetc(file) != EOF;
    if (file != NULL) {
        (void)fclose(file); /* was only read */
    }
    tide_status status = is_there ? tide_snapshot_load(path, NULL, &older, NULL) : TIDE_OK;
    tide_snapshot_destroy(older);
    return status == TIDE_OK
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "%s is there, and it is no snapshot: name another folder", path);
}

static tide_status save_process(tide_run_of_command *run, size_t number, tide_snapshot *snapshot,
                                tide_error *error) {
    const tide_run_recording *recording = &run->config->recording;
    run->saved_path[0] = '\0';
    if (recording->snapshot_path == NULL || snapshot == NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_launch_name_snapshot(recording->snapshot_path, &run->left, number,
                                       run->saved_path, sizeof(run->saved_path), error));
    if (run->left.n_processes > 1) {
        TIDE_TRY(check_free(run->saved_path, error));
    }
    if (recording->strip_private) {
        TIDE_TRY(tide_snapshot_strip_private(snapshot));
    }
    return tide_snapshot_save(snapshot, run->saved_path, error);
}

static bool is_out_of_memory(const tide_run_of_command *run) {
    for (size_t i = 0; i < run->left.n_processes; i++) {
        if (run->left.processes[i].is_out_of_memory) {
            return true;
        }
    }
    return false;
}

/* The steps of a failed program do not represent the whole run. */
static bool has_times(const tide_run_of_command *run) {
    return run->launching.logs_launches && run->launch.exit_status == 0 &&
           run->launch.signal_number == 0 && !is_out_of_memory(run);
}

/* The time of a step in a process, on one of its cards. Of several, the slowest is kept. A process
 * that launched nothing has none. */
static void read_time(tide_run_of_command *run, size_t process, size_t device) {
    tide_card card;
    tide_launch_time made = {.log = {.mem = NULL}};
    const char *path = run->left.processes[process].launches_path;
    if (!has_times(run) || path == NULL || !tide_launch_card(run->cards, device, &card)) {
        return;
    }
    if (tide_launch_time_init(path, &card, &run->host.host, &made, NULL) == TIDE_OK) {
        double step_us = tide_launch_step_us(&made);
        if (step_us > run->slowest_us) {
            run->slowest_us = step_us;
            tide_run_time_figures(&made, &run->result->program);
        }
    }
    tide_launch_time_fini(&made);
}

/* Ranks of a job wait for each other, so all are as slow as the slowest. */
static void read_time_of_rank(tide_run_of_command *run, size_t number,
                              const tide_summary *summary) {
    const tide_left *process = &run->left.processes[number];
    if (process->rank >= 0) {
        read_time(run, number, tide_left_fullest_device(process, summary));
    }
}

static tide_status read_process(tide_run_of_command *run, size_t number, tide_error *error) {
    const tide_left *process = &run->left.processes[number];
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_status status = TIDE_OK;
    if (tide_left_has_history(process)) {
        TIDE_TRY(tide_launch_document(process, &run->left, &run->launching, &snapshot, error));
        status = tide_summary_create(snapshot, &summary, error);
    }
    if (status == TIDE_OK && snapshot != NULL) {
        status = tide_run_add_work_areas(process, summary, snapshot, error);
    }
    if (status == TIDE_OK) {
        status = save_process(run, number, snapshot, error);
    }
    if (status == TIDE_OK) {
        size_t first = 0;
        if (tide_left_first_out(&run->left, &first) && first == number) {
            read_failure(run, snapshot);
        }
        compare_process(run, number, &snapshot, summary);
        read_time_of_rank(run, number, summary);
    }
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    return status;
}

/* The bytes of the card that were never used. Without an account of the card, only the cache's
 * bytes are known to be used. */
static int64_t margin_of(const tide_run_of_command *run) {
    const tide_run_device *device = &run->left.devices[run->device % TIDE_RUN_DEVICES];
    tide_card card;
    if (device->total_bytes > 0) {
        return (int64_t)(device->total_bytes + device->spill_bytes - device->peak_bytes);
    }
    if (!tide_launch_card(run->cards, run->device, &card)) {
        return -1;
    }
    int64_t total_bytes =
        run->launching.memory_bytes > 0 ? (int64_t)run->launching.memory_bytes : card.total_bytes;
    total_bytes += (int64_t)run->launching.spill_bytes;
    int64_t margin_bytes = total_bytes - (card.context_bytes > 0 ? card.context_bytes : 0) -
                           run->result->memory.reserved_peak_bytes;
    return margin_bytes > 0 ? margin_bytes : 0;
}

/* The host memory used by all processes together, for the fullest card. */
static void read_spill(tide_run_of_command *run) {
    const tide_run_device *device = &run->left.devices[run->device % TIDE_RUN_DEVICES];
    tide_run_memory *memory = &run->result->memory;
    if (run->launching.spill_bytes > 0 && device->total_bytes > 0) {
        bool is_full = device->peak_bytes > device->total_bytes;
        memory->spill_peak_bytes =
            is_full ? (int64_t)(device->peak_bytes - device->total_bytes) : 0;
        memory->n_spilled = (int64_t)device->n_spilled;
    }
}

static void describe_place(tide_run_of_command *run) {
    tide_run_environment *environment = &run->result->environment;
    const tide_left *process = &run->left.processes[run->process];
    tide_card card;
    (void)snprintf(environment->device_kind, sizeof(environment->device_kind), "virtual");
    if (tide_launch_card(run->cards, run->device, &card)) {
        (void)snprintf(environment->device_name, sizeof(environment->device_name), "%s",
                       card.title);
        environment->device_total_bytes = card.total_bytes;
        environment->compute_capability = card.compute_capability;
    }
    if (run->left.n_processes > 0 && process->torch[0] != '\0') {
        (void)snprintf(environment->computed_by, sizeof(environment->computed_by),
                       "PyTorch %s, CUDA %s, Python %s, without kernels", process->torch,
                       process->cuda, process->python);
    }
}

/* ---- how it ended ---- */

/* The last line that is not blank in the program's error output; "": none. */
static void last_line(FILE *errors, char ret_line[TIDE_RUN_REASON_BYTES]) {
    char text[ERROR_BYTES];
    ret_line[0] = '\0';
    if (fseek(errors, 0, SEEK_END) != 0) {
        return;
    }
    long n_bytes = ftell(errors);
    long begin = n_bytes > ERROR_BYTES - 1 ? n_bytes - (ERROR_BYTES - 1) : 0;
    if (fseek(errors, begin, SEEK_SET) != 0) {
        return;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, errors);
    text[n] = '\0';
    for (char *end = text + n; end > text && strchr(" \t\r\n", end[-1]) != NULL; end--) {
        end[-1] = '\0';
    }
    const char *line = strrchr(text, '\n');
    (void)snprintf(ret_line, TIDE_RUN_REASON_BYTES, "%.*s", (int)TIDE_RUN_REASON_BYTES - 1,
                   line != NULL ? line + 1 : text);
}

static void fail_by_signal(tide_run_of_command *run) {
    char text[TIDE_RUN_REASON_BYTES];
    int number = run->launch.signal_number;
    if (run->launch.was_stopped) {
        tide_run_fail(run->result, TIDE_OUTCOME_STOPPED, TIDE_OK, "interrupted");
        return;
    }
    (void)snprintf(text, sizeof(text), "signal %d (%.64s) ended the program", number,
                   strsignal(number));
    tide_run_fail(run->result, TIDE_OUTCOME_CRASHED, TIDE_DEVICE_FAILED, text);
    run->result->signal_number = number;
}

/* Whether the fullest card has less left than what is not measured. */
static void read_near(tide_run_of_command *run) {
    tide_card card;
    tide_run_of_program *program = &run->result->program;
    const tide_snapshot_work_areas *areas =
        run->snapshot != NULL ? tide_work_areas_of(run->snapshot, run->device) : NULL;
    const tide_card *known = tide_launch_card(run->cards, run->device, &card) ? &card : NULL;
    program->unmeasured_bytes = tide_run_unmeasured_bytes(known, areas);
    if (program->margin_bytes >= 0) {
        program->is_near = tide_run_is_near_limit(known, areas, program->margin_bytes) ? 1 : 0;
    }
}

static void judge(tide_run_of_command *run) {
    tide_run_result *result = run->result;
    char line[TIDE_RUN_REASON_BYTES];
    if (is_out_of_memory(run)) {
        tide_run_fail(result, TIDE_OUTCOME_OOM, TIDE_DEVICE_OOM, "the card has no memory left");
        result->asked_bytes = run->failure_asked_bytes;
        result->free_bytes = run->failure_free_bytes;
    } else if (run->launch.signal_number != 0) {
        fail_by_signal(run);
    } else if (run->launch.exit_status != 0) {
        last_line(run->errors, line);
        if (line[0] == '\0') {
            (void)snprintf(line, sizeof(line), "the program ended with status %d without a word",
                           run->launch.exit_status);
        }
        tide_run_fail(result, TIDE_OUTCOME_FAILED, TIDE_DEVICE_FAILED, line);
    } else if (result->memory.reserved_peak_bytes < 0) {
        tide_run_fail(result, TIDE_OUTCOME_FAILED, TIDE_DEVICE_FAILED,
                      "no process of the program has used the virtual card with PyTorch: does it "
                      "ask for the device cuda, and does its PyTorch have CUDA?");
    } else {
        result->outcome = TIDE_OUTCOME_COMPLETED;
        if (!run->is_part) { /* the card's account is of all parts */
            result->program.margin_bytes = margin_of(run);
            read_near(run);
        }
    }
}

/* The values that the fullest process assumed. */
static void read_assumed(tide_run_of_command *run) {
    tide_run_assumed *to = &run->result->program.assumed;
    const tide_left_list *left = &run->left;
    tide_assumed_limit limit = {.n_reads = 0};
    to->n_reads = to->n_rows = to->all_bytes = 0;
    for (size_t i = 0; left->n_processes > 0 && i < left->n_assumed; i++) {
        const tide_snapshot_assumed *row = &left->assumed[i].row;
        if (left->assumed[i].pid != left->processes[run->process].pid) {
            continue;
        }
        if (to->n_reads++ == 0) {
            (void)snprintf(to->place, sizeof(to->place), "%s", row->place);
            (void)snprintf(to->what, sizeof(to->what), "%s", row->what);
            to->given_least = row->given_least;
            to->given_most = row->given_most;
            to->possible = row->possible;
            to->n_times = row->n_times;
            to->row_bytes = row->row_bytes;
            to->row_all_bytes = row->all_bytes;
        }
        tide_assumed_limit_add(&limit, row);
    }
    to->n_rows = (int64_t)limit.n_reads;
    to->all_bytes = limit.all_bytes;
}

/* Of all processes, or of that of the part. */
static int64_t count_inexact(const tide_run_of_command *run) {
    int64_t n = 0;
    for (size_t i = 0; i < run->left.n_inexact; i++) {
        n += !run->is_part || run->left.inexact[i].pid == run->left.processes[0].pid;
    }
    return n;
}

tide_status tide_run_command_read(tide_run_of_command *run, tide_error *error) {
    tide_run_of_program *known = &run->result->program;
    int64_t n_passes = -1;
    for (size_t i = 0; i < run->left.n_processes; i++) {
        TIDE_TRY(read_process(run, i, error));
    }
    describe_place(run);
    read_spill(run);
    if (run->left.n_processes > 0 && run->left.processes[run->process].rank < 0) {
        read_time(run, run->process, run->device);
    }
    judge(run);
    known->n_inexact = count_inexact(run);
    read_assumed(run);
    if (run->left.n_processes > 0) {
        known->n_steps = run->left.processes[run->process].n_steps;
    }
    int64_t growth =
        run->snapshot != NULL ? tide_left_growth(run->snapshot, run->device, NULL, &n_passes) : 0;
    if (growth > 0) {
        known->growing_passes = n_passes;
        known->growing_bytes = growth;
    }
    return TIDE_OK;
}

void tide_run_program_here(const tide_run_config *config, const tide_run_hooks *hooks,
                           tide_run_result *result) {
    tide_run_of_command run = {.config = config,
                               .hooks = hooks,
                               .result = result,
                               .launch = {.alive_fd = -1, .cleaner = -1},
                               .failure_asked_bytes = -1,
                               .failure_free_bytes = -1};
    tide_error error = {""};
    char **arguments = NULL;
    tide_status status =
        tide_run_program_arguments(&config->workload.of.program, &arguments, &error);
    if (status == TIDE_OK) {
        status = read_host(&run, &error);
    }
    if (status == TIDE_OK) {
        status = launch(&run, arguments, &error);
    }
    if (status == TIDE_OK) {
        result->host_peak_bytes = run.launch.host_peak_bytes;
        status = tide_left_read(&run.launch, &run.left, &error);
    }
    if (status == TIDE_OK) {
        status = config->workload.of.program.sets != NULL
                     ? tide_run_command_read_parts(&run, &error)
                     : tide_run_command_read(&run, &error);
    }
    if (status != TIDE_OK) {
        tide_run_fail(result, tide_outcome_of_status(status), status, error.message);
    }
    tide_snapshot_destroy(run.snapshot);
    if (run.left.processes != NULL) {
        tide_left_fini(&run.left);
    }
    tide_launch_close(&run.launch);
    tide_run_program_release(arguments);
    if (run.errors != NULL) {
        (void)fclose(run.errors); /* it was only read here */
    }
}
