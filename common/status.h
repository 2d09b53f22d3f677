/* status.h - the one way tidemark reports failure: a status value, and a message for people beside
 * it.
 *
 * Anything that can fail returns a tide_status. Detail for people goes into an optional tide_error,
 * always the last parameter: NULL is allowed and means that nobody wants it. `ret_` parameters are
 * written only on TIDE_OK.
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
    TIDE_NO_MEMORY,   /* the host has no memory left */
    TIDE_INVALID,     /* an argument, option or request that makes no sense */
    TIDE_DEVICE_OOM,  /* the device (or the memory limit) has no memory left: an answer, not a fault
                       */
    TIDE_DEVICE_LOST, /* sticky: nothing on this device will work again */
    TIDE_DEVICE_ABSENT, /* no such device here */
    TIDE_DEVICE_FAILED, /* the device refused a call for another reason */
    TIDE_NOT_READY,     /* an event that has not been reached yet */
    TIDE_UNSUPPORTED,   /* this build, device or version cannot do it */
    TIDE_IO,            /* a file could not be opened, read, written or renamed */
    TIDE_FORMAT,        /* a file is not what it should be: foreign, truncated or damaged */
    TIDE_LIMIT,         /* a number is beyond a stated limit */
    TIDE_GATE           /* everything ran, but a stated bound was missed */
} tide_status;

/* A message for people: what, where, and the remedy. The first line stands alone; more lines may
 * follow. */
typedef struct tide_error {
    char message[2048]; /* always terminated; "" when nothing failed */
} tide_error;

/* The name of a status, as in "device out of memory". Never NULL. */
const char *tide_status_text(tide_status status);

/* Writes the message (cut at the buffer's end) and returns `status`, so that it can stand in a
 * return statement. `error` may be NULL. */
tide_status tide_fail(tide_error *error, tide_status status, const char *format, ...)
    TIDE_PRINTF(3, 4);
tide_status tide_fail_list(tide_error *error, tide_status status, const char *format,
                           va_list arguments) TIDE_PRINTF(3, 0);

/* Puts "PREFIX: " before the message that is there; for callers that know the place a callee could
 * not know. */
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
