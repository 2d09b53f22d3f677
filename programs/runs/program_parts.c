/* The results of the sets of one import (programs/launch/together/together.h): each is one process,
 * and is read as if it had been the only one. */
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/together/together.h"
#include "programs/runs/program_run.h"

/* The number of the process in the list; SIZE_MAX: none. */
static size_t find_process(const tide_left_list *left, int64_t pid) {
    for (size_t i = 0; pid >= 0 && i < left->n_processes; i++) {
        if (left->processes[i].pid == pid) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* "FOLDER/4.json.gz" of part 1 is "FOLDER/4-1.json.gz". */
static void name_part(const char *path, size_t i, char ret_path[TIDE_RUN_PATH_BYTES]) {
    static const char ENDING[] = ".json.gz";
    size_t n = strlen(path);
    bool has_ending = n >= strlen(ENDING) && strcmp(path + n - strlen(ENDING), ENDING) == 0;
    n -= has_ending ? strlen(ENDING) : 0;
    (void)snprintf(ret_path, TIDE_RUN_PATH_BYTES, "%.*s-%zu%s", (int)n, path, i,
                   has_ending ? ENDING : "");
}

static tide_status read_part(const tide_run_of_command *run, size_t i, size_t process,
                             tide_run_result *result, tide_error *error) {
    char path[TIDE_RUN_PATH_BYTES];
    tide_run_config config = *run->config;
    tide_run_of_command part = *run;
    part.config = &config;
    part.result = result;
    part.is_part = true;
    part.left.processes = &run->left.processes[process];
    part.left.n_processes = 1;
    part.launch.exit_status = 0; /* only such are listed */
    part.launch.signal_number = 0;
    if (config.recording.snapshot_path != NULL) {
        name_part(run->config->recording.snapshot_path, i, path);
        config.recording.snapshot_path = path;
    }
    tide_status status = tide_run_command_read(&part, error);
    tide_snapshot_destroy(part.snapshot);
    return status;
}

tide_status tide_run_command_read_parts(tide_run_of_command *run, tide_error *error) {
    tide_run_result *result = run->result;
    const char *sets = run->config->workload.of.program.sets;
    size_t n = tide_launch_count_sets(sets);
    result->parts = tide_hostmem_zeroed(tide_hostmem_default(), n, sizeof(*result->parts));
    if (result->parts == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for %zu results", n);
    }
    result->n_parts = n;
    for (size_t i = 0; i < n; i++) {
        tide_error reason = {""};
        tide_run_result *part = &result->parts[i];
        int64_t pid = tide_launch_process_of_set(&run->launch, sets, i);
        size_t process = find_process(&run->left, pid);
        tide_run_result_init(part);
        if (process == SIZE_MAX) {
            tide_run_fail(part, TIDE_OUTCOME_FAILED, TIDE_DEVICE_FAILED, "it did not end well");
        } else {
            tide_status status = read_part(run, i, process, part, &reason);
            if (status != TIDE_OK) {
                tide_run_fail(part, TIDE_OUTCOME_FAILED, status, reason.message);
            }
        }
    }
    result->outcome = TIDE_OUTCOME_COMPLETED;
    return TIDE_OK;
}
