/* failure.c - how a program failed: its exception, its exit status or its signal. */

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/assert.h"
#include "common/text/text.h"

enum { LINE_BYTES = 2048 };

bool tide_run_has_failed(const tide_run_answer *of) {
    return of->launch->exit_status != 0 || of->launch->signal_number != 0;
}

static bool used_memory(const tide_run_answer *of) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_left *process = of->processes[i].left;
        if (process->is_out_of_memory || process->calls_path != NULL) {
            return true;
        }
        for (size_t d = 0; d < process->n_devices; d++) {
            if (process->peaks[d].reserved_bytes + process->peaks[d].n_rows > 0) {
                return true;
            }
        }
    }
    return false;
}

bool tide_run_failed_early(const tide_run_answer *of) {
    return tide_run_has_failed(of) && !used_memory(of);
}

/* Whether the lines about the ranks name the exception (ranks.c). */
static bool is_of_a_rank(const tide_run_answer *of) {
    return tide_run_is_job(of) && used_memory(of);
}

/* The exception that ended the program; NULL if there is none, or another process than the first
 * has it. */
static const char *own_exception(const tide_run_answer *of, const char **ret_line) {
    size_t process = 0;
    *ret_line = "";
    if (is_of_a_rank(of)) {
        return NULL;
    }
    if (of->launch->exit_status > 0 && tide_run_first_failure(of, &process) &&
        of->processes[process].left->exception[0] != '\0') {
        *ret_line = of->processes[process].left->failing_line;
        return of->processes[process].left->exception;
    }
    return of->list->is_of_program ? of->list->exception : NULL;
}

void tide_run_say_failure(const tide_run_answer *of, const char *when, tide_text *to) {
    const char *line = "";
    const char *exception = own_exception(of, &line);
    TIDE_ASSERT(of->list->exception != NULL); /* "" if there is none */
    if (of->launch->signal_number != 0) {
        tide_text_add(to, "signal %d ended the program%s", of->launch->signal_number, when);
    } else if (exception == NULL) {
        tide_text_add(to, "the program ended with status %d%s", of->launch->exit_status, when);
        if (of->list->exception[0] != '\0' && !is_of_a_rank(of)) {
            tide_text_add(to, "; a process that it started failed: %s", of->list->exception);
        }
    } else {
        tide_text_add(to, "the program failed%s: %s", when, exception);
        if (line[0] != '\0') {
            tide_text_add(to, ", at %s", line);
        }
    }
}

void tide_run_tell_early_failure(const tide_run_answer *of) {
    char line[LINE_BYTES];
    tide_text text = tide_text_in(line, sizeof(line));
    tide_run_say_failure(of, " before it allocated GPU memory", &text);
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}
