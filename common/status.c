/* status.c - names of statuses, and messages of errors. */
#include "common/status.h"

#include <stdio.h>
#include <string.h>

const char *tide_status_text(tide_status status) {
    switch (status) {
    case TIDE_OK:
        return "ok";
    case TIDE_NO_MEMORY:
        return "host out of memory";
    case TIDE_INVALID:
        return "invalid argument";
    case TIDE_DEVICE_OOM:
        return "device out of memory";
    case TIDE_DEVICE_LOST:
        return "device lost";
    case TIDE_DEVICE_ABSENT:
        return "device absent";
    case TIDE_DEVICE_FAILED:
        return "device call failed";
    case TIDE_NOT_READY:
        return "not ready";
    case TIDE_UNSUPPORTED:
        return "unsupported";
    case TIDE_IO:
        return "input/output error";
    case TIDE_FORMAT:
        return "bad file";
    case TIDE_LIMIT:
        return "beyond a limit";
    case TIDE_GATE:
        return "a gate failed";
    }
    return "unknown status";
}

tide_status tide_fail_list(tide_error *error, tide_status status, const char *format,
                           va_list arguments) {
    if (error != NULL) {
        vsnprintf(error->message, sizeof(error->message), format, arguments);
    }
    return status;
}

tide_status tide_fail(tide_error *error, tide_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    status = tide_fail_list(error, status, format, arguments);
    va_end(arguments);
    return status;
}

void tide_error_prefix(tide_error *error, const char *format, ...) {
    if (error == NULL) {
        return;
    }
    char behind[sizeof(error->message)];
    memcpy(behind, error->message, sizeof(behind));
    va_list arguments;
    va_start(arguments, format);
    int n_written = vsnprintf(error->message, sizeof(error->message), format, arguments);
    va_end(arguments);
    if (n_written < 0 || (size_t)n_written >= sizeof(error->message)) {
        return;
    }
    size_t n_left = sizeof(error->message) - (size_t)n_written;
    /* A message that is too long is cut. The precision shows the compiler that this is intended. */
    snprintf(error->message + n_written, n_left, ": %.*s", n_left > 3 ? (int)(n_left - 3) : 0,
             behind);
}
