#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int tide_exit_status(tide_status status) {
    switch (status) {
    case TIDE_OK:
        return TIDE_EXIT_SUCCESS;
    case TIDE_INVALID:
        return TIDE_EXIT_USAGE;
    case TIDE_DEVICE_OOM:
        return TIDE_EXIT_DEVICE_OOM;
    case TIDE_GATE:
        return TIDE_EXIT_GATE;
    default:
        return TIDE_EXIT_FAILURE;
    }
}

static void print_prefix(const char *command) {
    if (command != NULL) {
        fprintf(stderr, "tidemark %s: ", command);
    } else {
        fprintf(stderr, "tidemark: ");
    }
}

int tide_cli_fail(const char *command, tide_status status, const tide_error *error) {
    const char *message =
        error != NULL && error->message[0] != '\0' ? error->message : tide_status_text(status);
    print_prefix(command);
    fprintf(stderr, "%s\n", message);
    return tide_exit_status(status);
}

int tide_cli_refuse(const char *command, tide_status status, const tide_error *error) {
    int exit_status = tide_cli_fail(command, status, error);
    return status == TIDE_LIMIT ? TIDE_EXIT_USAGE : exit_status;
}

void tide_cli_note(const char *command, const char *format, ...) {
    print_prefix(command);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

bool tide_cli_parse(const tide_option_table *table, int argc, char **argv, void *values,
                    tide_operands *operands, int *ret_exit) {
    tide_operands none;
    tide_operands *into = operands != NULL ? operands : &none;
    tide_error error = {""};
    tide_status status = tide_options_parse(table, argc, argv, values, into, &error);
    if (status != TIDE_OK) {
        tide_cli_fail(table->command, status, &error);
        *ret_exit = TIDE_EXIT_USAGE;
        return false;
    }
    if (into->wants_help) {
        tide_options_print_help(table, stdout);
        *ret_exit = tide_cli_finish(table->command, TIDE_EXIT_SUCCESS);
        return false;
    }
    return true;
}

int tide_cli_finish(const char *command, int exit_status) {
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return exit_status;
    }
    tide_cli_note(command, "standard output could not be written: %s", strerror(errno));
    return exit_status == TIDE_EXIT_SUCCESS ? TIDE_EXIT_FAILURE : exit_status;
}
