/* calibration.h - the host for which times are forecast: its options, and the file that `tidemark
 * bench calibrate` keeps for this machine.
 */
#ifndef TIDE_CLI_CALIBRATION_H
#define TIDE_CLI_CALIBRATION_H

#include "cli/files.h"
#include "cli/options/options.h"
#include "common/status.h"
#include "programs/step_time/calibration.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_host_options {
    const char *file; /* of --host; NULL: not given */
    double factor;    /* of --host-factor; 0: not given */
} tide_host_options;

/* Rows of a table whose values have a tide_host_options at `at`. */
#define TIDE_HOST_ROWS(at)                                                                         \
    TIDE_OPTION(TEXT, "host", "FILE", (at) + offsetof(tide_host_options, file),                    \
                "forecast for the machine on which `tidemark bench calibrate -o FILE` wrote this " \
                "file; needs a calibration of this machine, too"),                                 \
        TIDE_OPTION(POSITIVE, "host-factor", "X", (at) + offsetof(tide_host_options, factor),      \
                    "the host's time over that of the run; default what calibrations say, else "   \
                    "0.54 with a wide range")

/* A host, and the calibrations that it points to: it must not be copied. */
typedef struct tide_host_choice {
    char own_path[TIDE_PATH_BYTES]; /* of the calibration of this machine; "": none */
    tide_calibration own, target;
    tide_time_host host;
} tide_host_choice;

/* The path of this machine's calibration:
 * ${XDG_CONFIG_HOME:-$HOME/.config}/tidemark/calibration.json. TIDE_INVALID if there is no home. */
TIDE_NODISCARD tide_status tide_calibration_own_path(char ret_path[TIDE_PATH_BYTES],
                                                     tide_error *error);

/* This machine's processor, as named in a calibration. */
void tide_calibration_cpu(char ret_cpu[TIDE_CALIBRATION_TEXT]);

/* Reads the existing calibrations. A calibration of another processor, from a home that several
 * machines share, is not used for this machine, and `command` (NULL: no note) prints a note.
 * TIDE_INVALID, TIDE_FORMAT and TIDE_IO name the option or the file. */
TIDE_NODISCARD tide_status tide_host_choose(const tide_host_options *options, const char *command,
                                            tide_host_choice *ret, tide_error *error);

/* "h100-80,a100-40", in the form of tide_launch_cards. The message of TIDE_INVALID names the option
 * that requests a forecast, and a card whose rates are unknown. */
TIDE_NODISCARD tide_status tide_host_check_cards(const char *option, const char *cards,
                                                 tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
