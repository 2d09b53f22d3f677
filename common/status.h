/* status.h - how tidemark reports failures: a status value, and a message for people.
 *
 * Every function that can fail returns a tide_status. Details for people go into an optional
 * tide_error, which is always the last parameter; NULL means that the caller wants none. `ret_`
 * parameters are written only on TIDE_OK.
 */
#ifndef TIDE_COMMON_STATUS_H
#define TIDE_COMMON_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TIDE_NODISCARD __attribute__((warn_unused_result))
#define TIDE_PRINTF(format_index, first_argument)                                                  \
    __attribute__((format(printf, format_index, first_argument)))
#else
#define TIDE_NODISCARD
#define TIDE_PRINTF(format_index, first_argument)
#endif

typedef enum tide_status {
    TIDE_OK = 0,
    TIDE_NO_MEMORY,     /* the host has no memory left */
    TIDE_INVALID,       /* an argument, option or request is not valid */
    TIDE_DEVICE_OOM,    /* the device, or the memory limit, has no memory left: a normal answer */
    TIDE_DEVICE_LOST,   /* sticky: nothing on this device will work again */
    TIDE_DEVICE_ABSENT, /* no such device here */
    TIDE_DEVICE_FAILED, /* the device refused a call for another reason */
    TIDE_NOT_READY,     /* the device has not reached the event yet */
    TIDE_UNSUPPORTED,   /* this build, device or version cannot do it */
    TIDE_IO,            /* a file could not be opened, read, written or renamed */
    TIDE_FORMAT,        /* a file is in another format, truncated or damaged */
    TIDE_LIMIT,         /* a number is beyond a stated limit */
    TIDE_GATE           /* everything ran, but a stated bound was missed */
} tide_status;

/* A message for people: what happened, where, and the remedy. The first line is complete in itself;
 * more lines may follow. */
typedef struct tide_error {
    char message[2048]; /* always terminated; "" when nothing failed */
} tide_error;

/* The name of a status, as in "device out of memory". Never NULL. */
const char *tide_status_text(tide_status status);

/* Writes the message, cut to the buffer, and returns `status`, for use in a return statement.
 * `error` may be NULL. */
tide_status tide_fail(tide_error *error, tide_status status, const char *format, ...)
    TIDE_PRINTF(3, 4);
tide_status tide_fail_list(tide_error *error, tide_status status, const char *format,
                           va_list arguments) TIDE_PRINTF(3, 0);

/* Puts "PREFIX: " before the message, for a caller that knows context which its callee does not. */
void tide_error_prefix(tide_error *error, const char *format, ...) TIDE_PRINTF(2, 3);

#define TIDE_TRY(call)                                                                             \
    do {                                                                                           \
        tide_status tide_try_status_ = (call);                                                     \
        if (tide_try_status_ != TIDE_OK) {                                                         \
            return tide_try_status_;                                                               \
        }                                                                                          \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
