#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/harmless.h"

enum { NOTE_BYTES = 8192 }; /* the longest note; the rest is cut off */

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

static void print_message(const char *message) {
    tide_harmless_print(stderr, message);
    fputc('\n', stderr);
}

int tide_cli_fail(const char *command, tide_status status, const tide_error *error) {
    const char *message =
        error != NULL && error->message[0] != '\0' ? error->message : tide_status_text(status);
    print_prefix(command);
    print_message(message);
    return tide_exit_status(status);
}

int tide_cli_refuse(const char *command, tide_status status, const tide_error *error) {
    int exit_status = tide_cli_fail(command, status, error);
    return status == TIDE_LIMIT ? TIDE_EXIT_USAGE : exit_status;
}

void tide_cli_note(const char *command, const char *format, ...) {
    char message[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    print_prefix(command);
    print_message(message);
}

void tide_cli_print(FILE *out, const char *format, ...) {
    char message[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    tide_harmless_print(out, message);
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
    tide_cli_note(command, "cannot write to standard output: %s", strerror(errno));
    return exit_status == TIDE_EXIT_SUCCESS ? TIDE_EXIT_FAILURE : exit_status;
}

int tide_cli_end(const char *command, tide_status status, const tide_error *error,
                 int exit_status) {
    if (status != TIDE_OK) {
        return tide_cli_fail(command, status, error);
    }
    return tide_cli_finish(command, exit_status);
}
