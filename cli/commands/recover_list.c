/* tidemark recover --list and --remove: the logs that runs have left. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands/recover_internal.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "programs/launch/logs/logs_left.h"
#include "report/harmless.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400, AGE_BYTES = 32 };

/* "5 min ago" */
static const char *age_of(const tide_logs_run *run, char text[AGE_BYTES]) {
    static const struct {
        int64_t seconds;
        const char *unit;
    } UNITS[] = {{DAY_S, "d"}, {HOUR_S, "h"}, {MINUTE_S, "min"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && run->age_s < UNITS[i].seconds) {
        i++;
    }
    if (run->is_running) {
        (void)snprintf(text, AGE_BYTES, "running");
    } else {
        (void)snprintf(text, AGE_BYTES, "%" PRId64 " %s ago", run->age_s / UNITS[i].seconds,
                       UNITS[i].unit);
    }
    return text;
}

static void print_run(const tide_logs_run *run) {
    char bytes[TIDE_BYTES_TEXT];
    char age[AGE_BYTES];
    char command[4 * TIDE_LOGS_COMMAND_BYTES];
    tide_text_harmless(run->command[0] != '\0' ? run->command : "(command unknown)", command,
                       sizeof(command));
    tide_cli_print(stdout, "%-12s  %2zu %-4s  %10s  %-10s  %s\n", run->name, run->n_logs,
                   tide_plural(run->n_logs, "log", "logs"),
                   tide_bytes_format((int64_t)run->n_bytes, bytes), age_of(run, age), command);
}

static void list(const tide_logs_left *left) {
    char bytes[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < left->n_runs; i++) {
        print_run(&left->runs[i]);
    }
    if (left->n_runs == 0) {
        tide_cli_print(stdout, "no run has left a log%s%s\n", left->folder[0] != '\0' ? " in " : "",
                       left->folder);
        return;
    }
    tide_cli_print(stdout, "%zu %s that ended left %s in %s", left->n_left,
                   tide_plural(left->n_left, "run", "runs"),
                   tide_bytes_format((int64_t)left->n_bytes, bytes), left->folder);
    tide_cli_print(stdout, "%s\n",
                   left->n_left > 0 ? "; recover FOLDER/RUN/PID.log makes a snapshot of a log, "
                                      "recover --remove removes them all, --remove RUN one"
                                    : "");
}

static tide_status remove_them(const tide_logs_left *left, const char *only, tide_error *error) {
    char bytes[TIDE_BYTES_TEXT];
    size_t n_found = 0;
    size_t n_removed = 0;
    tide_status first = TIDE_OK; /* of those that stay */
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < left->n_runs; i++) {
        bool is_meant =
            only != NULL ? strcmp(only, left->runs[i].name) == 0 : !left->runs[i].is_running;
        if (!is_meant) {
            continue;
        }
        n_found++;
        tide_status status = tide_logs_left_remove(left, i, first == TIDE_OK ? error : NULL);
        if (status != TIDE_OK) {
            first = first == TIDE_OK ? status : first;
            continue;
        }
        n_removed++;
        n_bytes += left->runs[i].n_bytes;
        tide_cli_print(stdout, "removed %s\n", left->runs[i].name);
    }
    if (n_found == 0 && only != NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "no run of the name %s has left logs in %s: --list shows those that have",
                         only, left->folder);
    }
    tide_cli_print(stdout, "%s removed in %zu %s\n", tide_bytes_format((int64_t)n_bytes, bytes),
                   n_removed, tide_plural(n_removed, "run", "runs"));
    return first;
}

tide_status tide_recover_list(bool removes, const char *only, tide_error *error) {
    tide_logs_left left;
    TIDE_TRY(tide_logs_left_init(&left, error));
    tide_status status = TIDE_OK;
    if (removes) {
        status = remove_them(&left, only, error);
    } else {
        list(&left);
    }
    tide_logs_left_fini(&left);
    return status;
}
