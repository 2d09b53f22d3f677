/* host_limit.c - a limit of the host that may have ended the program: that of its address space, or
 * of its data (ulimit -v, ulimit -d). The program has the limits that tidemark has. */
#define _DEFAULT_SOURCE /* RLIMIT_AS */
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"

static bool contains(const char *text, const char *part) {
    size_t n = strlen(part);
    for (; text != NULL && *text != '\0'; text++) {
        if (strncasecmp(text, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the error of a process indicates a lack of memory. */
static bool is_about_memory(const char *exception) {
    return contains(exception, "memory") || contains(exception, "alloc") ||
           contains(exception, "failed to map segment");
}

static bool may_lack_memory(const tide_run_answer *of) {
    int signal_number = of->launch->signal_number;
    bool may = signal_number == SIGABRT || signal_number == SIGSEGV || signal_number == SIGBUS ||
               is_about_memory(of->list->exception);
    for (size_t i = 0; i < of->list->n_processes; i++) {
        const tide_left *process = of->processes[i].left;
        if (process->is_out_of_memory) {
            return false; /* of the card's memory */
        }
        may = may || is_about_memory(process->exception);
    }
    for (size_t i = 0; i < of->list->n_inexact; i++) {
        if (of->list->inexact[i].is_host) {
            return false; /* another line names the limit */
        }
    }
    return may && tide_run_has_failed(of);
}

void tide_run_tell_host_limit(const tide_run_answer *of) {
    static const struct {
        int resource;
        const char *what, *option;
    } LIMITS[] = {{RLIMIT_AS, "address space", "-v"}, {RLIMIT_DATA, "data", "-d"}};
    char bytes[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]) && may_lack_memory(of); i++) {
        struct rlimit limit;
        if (getrlimit(LIMITS[i].resource, &limit) == 0 && limit.rlim_cur < INT64_MAX) {
            tide_cli_note(TIDE_COMMAND_RUN,
                          "a process may have %s of %s here (ulimit %s), which may be what the "
                          "program lacked: raise it with ulimit %s unlimited",
                          tide_bytes_format((int64_t)limit.rlim_cur, bytes), LIMITS[i].what,
                          LIMITS[i].option, LIMITS[i].option);
            return;
        }
    }
}
