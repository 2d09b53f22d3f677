/* tidemark replay: runs a snapshot's requests through the allocator again. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/replay/internal.h"
#include "cli/options/report_options.h"
#include "snapshot/document/snapshot.h"

static const char *start_at(size_t i) {
    static const char *const STARTS[] = {"auto", "recorded", "rebuilt"};
    return i < sizeof(STARTS) / sizeof(STARTS[0]) ? STARTS[i] : NULL;
}

#define AT(member) offsetof(tide_replay_command, member)

static const tide_option OPTIONS[] = {
    TIDE_OPTION(TEXTS, "alloc-conf", "NAME:VALUE,...", AT(confs),
                "allocator settings in PyTorch's names, added to the recorded ones; may be given "
                "several times, with one replay for each"),
    TIDE_OPTION(SIZE, "memory-limit", "SIZE", AT(limit_bytes),
                "limit of the reserved bytes on each device; default the recorded limit, or if the "
                "file has none, what was free plus what was reserved when memory ran out"),
    TIDE_OPTION(FLAG, "grid", NULL, AT(grid),
                "try the settings that make sense and rank them for each device: first those that "
                "do not run out of memory, then by their peak of reserved bytes"),
    TIDE_OPTION(FLAG, "verify", NULL, AT(verify),
                "end with exit status 4 unless every segment and every address is the recorded "
                "one; --alloc-conf then gives settings that the file lacks"),
    TIDE_OPTION_OF(CHOICE, "start", NULL, start_at, AT(start),
                   "how to place what was alive before the first event: recorded puts it in the "
                   "recorded segments, rebuilt requests it anew in the order of addresses; auto is "
                   "recorded with --verify, otherwise rebuilt"),
    TIDE_OPTION(COUNT, "over-time", "N", AT(n_samples),
                "print a table of the reserved and allocated bytes at N instants; default none"),
    {.kind = TIDE_OPTION_TEXT,
     .name = "output",
     .letter = "o",
     .value = "FILE.json.gz",
     .help = "write the replayed run as a snapshot",
     .offset = AT(output)},
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(strip_private),
                "leave out command line, host name and folders of absolute paths in that file"),
    TIDE_REPORT_ROWS(AT(report)),
};

static const tide_option_table TABLE = {
    .command = "replay",
    .operands = "FILE",
    .intro =
        "Runs the recorded requests through the allocator again: by default under the recorded\n"
        "settings, which must give the recorded addresses. --alloc-conf, --memory-limit and\n"
        "--grid show what other settings would change.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
};

/* ---- the replays ---- */

static tide_status check_command(const tide_replay_command *command, tide_error *error) {
    if (command->verify && (command->grid || command->limit_bytes != UINT64_MAX ||
                            command->confs.n > 1 || strcmp(command->start, "rebuilt") == 0)) {
        return tide_fail(
            error, TIDE_INVALID,
            "--verify replays the recorded settings, or those of one --alloc-conf: leave out "
            "--grid, --memory-limit, --start rebuilt and further --alloc-conf");
    }
    if (command->output != NULL && (command->grid || command->confs.n > 1)) {
        return tide_fail(
            error, TIDE_INVALID,
            "-o writes a single replayed run: give at most one --alloc-conf, and no --grid");
    }
    if (command->limit_bytes == 0) {
        return tide_fail(error, TIDE_INVALID, "--memory-limit 0: the limit must be above 0");
    }
    return TIDE_OK;
}

static tide_replay_start start_of(const tide_replay_command *command) {
    return strcmp(command->start, "recorded") == 0  ? TIDE_REPLAY_START_RECORDED
           : strcmp(command->start, "rebuilt") == 0 ? TIDE_REPLAY_START_REBUILT
                                                    : TIDE_REPLAY_START_AUTO;
}

/* Whether the command only checks that the replay reproduces the recording. */
static bool only_verifies(const tide_replay_command *command) {
    return command->verify ||
           (command->confs.n == 0 && !command->grid && command->limit_bytes == UINT64_MAX &&
            strcmp(command->start, "rebuilt") != 0);
}

/* The recorded settings are an entry if a base is needed: the start is rebuilt, or there is a limit
 * that the recording did not have. */
static bool needs_base(const tide_replay_command *command, const tide_snapshot *snapshot) {
    return command->grid || command->limit_bytes != UINT64_MAX || command->confs.n == 0 ||
           start_of(command) == TIDE_REPLAY_START_REBUILT ||
           (start_of(command) == TIDE_REPLAY_START_AUTO && snapshot->n_start_segments > 0);
}

static tide_status add_entries(const tide_replay_command *command, tide_replay_runs *runs,
                               tide_error *error) {
    if (needs_base(command, runs->snapshot)) {
        TIDE_TRY(tide_replay_runs_add(runs, NULL, error));
    }
    for (size_t i = 0; i < command->confs.n; i++) {
        tide_status status = tide_replay_runs_add(runs, command->confs.texts[i], error);
        if (status != TIDE_OK) {
            if (runs->n_entries < TIDE_REPLAY_MAX_RUNS) { /* it is about these settings */
                tide_error_prefix(error, "--alloc-conf");
            }
            return status;
        }
    }
    return command->grid ? tide_replay_runs_add_grid(runs, error) : TIDE_OK;
}

static void show_progress(void *ctx, size_t n_done, size_t n_total) {
    tide_progress_update(ctx, n_done, n_total);
}

static tide_status replay_entries(tide_replay_runs *runs, tide_error *error) {
    tide_progress line;
    const tide_replay_progress progress = {&line, show_progress};
    tide_progress_begin(&line, "replaying");
    tide_status status = tide_replay_runs_replay(runs, &progress, error);
    tide_progress_end(&line);
    return status;
}

static tide_status find_needs(tide_replay_runs *runs, tide_error *error) {
    tide_progress line;
    const tide_replay_progress progress = {&line, show_progress};
    tide_progress_begin(&line, "searching for a limit");
    tide_status status = tide_replay_runs_find_needs(runs, &progress, error);
    tide_progress_end(&line);
    return status;
}

/* Does everything that the command requests. The caller calls fini on the runs in any case. */
static tide_status make_runs(const tide_replay_command *command, const tide_snapshot *snapshot,
                             tide_replay_runs *runs, tide_error *error) {
    const tide_replay_runs_options options = {.start = start_of(command),
                                              .limit_bytes = command->limit_bytes,
                                              .keep_rows = command->output != NULL,
                                              .n_samples = (size_t)command->n_samples};
    TIDE_TRY(tide_replay_runs_init(runs, snapshot, &options, error));
    if (only_verifies(command)) {
        return tide_replay_runs_verify(runs, command->confs.n > 0 ? command->confs.texts[0] : NULL,
                                       error);
    }
    TIDE_TRY(add_entries(command, runs, error));
    TIDE_TRY(replay_entries(runs, error));
    return command->grid ? find_needs(runs, error) : TIDE_OK;
}

/* ---- the command ---- */

/* The only run, or the last one: -o allows at most a base besides it. */
static tide_status write_output(const tide_replay_runs *runs, const tide_replay_command *command,
                                tide_error *error) {
    const tide_replay *replay =
        runs->verified != NULL ? runs->verified : runs->entries[runs->n_entries - 1].replay;
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_replay_snapshot(replay, &snapshot, error));
    tide_status status = command->strip_private ? tide_snapshot_strip_private(snapshot) : TIDE_OK;
    if (status == TIDE_OK) {
        status = tide_snapshot_save(snapshot, command->output, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

static tide_status report_on(const tide_replay_runs *runs, const char *path,
                             const tide_replay_command *command, tide_error *error) {
    tide_report report;
    tide_report_init(&report, "replay");
    tide_replay_report(&report, runs, path);
    return tide_report_end(&report, TIDE_OK, tide_format_chosen(&command->report), error);
}

static tide_status replay_snapshot(const tide_snapshot *snapshot,
                                   const tide_replay_command *command, const char *path,
                                   tide_error *error) {
    tide_replay_runs runs = {.snapshot = snapshot};
    tide_status status = check_command(command, error);
    if (status == TIDE_OK) {
        status = make_runs(command, snapshot, &runs, error);
    }
    if (status == TIDE_OK && command->output != NULL) {
        status = write_output(&runs, command, error);
    }
    if (status == TIDE_OK) {
        status = report_on(&runs, path, command, error);
    }
    if (status == TIDE_OK && command->verify && !tide_replay_is_same(&runs.verified->verified)) {
        status = tide_fail(error, TIDE_GATE, "the replay differs from the recording: %s",
                           runs.verified->verified.first_difference);
    }
    tide_replay_runs_fini(&runs);
    return status;
}

static tide_status replay_file(const tide_replay_command *command, const char *path,
                               tide_error *error) {
    tide_snapshot *snapshot = NULL;
    if (command->output != NULL) {
        const tide_output output = {.path = command->output, .inputs = &path, .n_inputs = 1};
        TIDE_TRY(tide_output_check(&output, error));
    }
    TIDE_TRY(tide_cli_load(path, NULL, &snapshot, error));
    tide_status status = replay_snapshot(snapshot, command, path, error);
    tide_snapshot_destroy(snapshot);
    if (status != TIDE_OK && status != TIDE_GATE && status != TIDE_INVALID) {
        tide_error_prefix(error, "%s", path);
    }
    return status;
}

static int run(int argc, char **argv) {
    tide_replay_command command = {.start = "auto", .limit_bytes = UINT64_MAX};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &command, &operands, &exit_status)) {
        return exit_status;
    }
    tide_error error = {""};
    tide_status status = replay_file(&command, operands.texts[0], &error);
    return tide_cli_end("replay", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_replay = {
    .name = "replay",
    .summary = "the recorded requests under the same or other allocator settings",
    .options = &TABLE,
    .run = run,
};
