#define _POSIX_C_SOURCE 200809L
#include "cli/calibration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/files/text_file.h"
#include "programs/launch/cards.h"

tide_status tide_calibration_own_path(char ret_path[TIDE_PATH_BYTES], tide_error *error) {
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    bool has_config = config != NULL && config[0] == '/'; /* the standard ignores relative ones */
    if (!has_config && (home == NULL || home[0] == '\0')) {
        return tide_fail(error, TIDE_INVALID,
                         "neither XDG_CONFIG_HOME nor HOME is set: name a file with -o");
    }
    int n = snprintf(ret_path, TIDE_PATH_BYTES, "%s%s/tidemark/calibration.json",
                     has_config ? config : home, has_config ? "" : "/.config");
    return n < TIDE_PATH_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT, "the path of the home is longer than %d bytes",
                           (int)TIDE_PATH_BYTES);
}

void tide_calibration_cpu(char ret_cpu[TIDE_CALIBRATION_TEXT]) {
    if (!tide_text_file_value("/proc/cpuinfo", "model name", ':', ret_cpu, TIDE_CALIBRATION_TEXT)) {
        snprintf(ret_cpu, TIDE_CALIBRATION_TEXT, "unknown processor");
    }
}

/* *ret_has: a calibration exists and is of this processor. */
static tide_status read_own(const char *command, char path[TIDE_PATH_BYTES], tide_calibration *ret,
                            bool *ret_has, tide_error *error) {
    char cpu[TIDE_CALIBRATION_TEXT];
    *ret_has = false;
    if (tide_calibration_own_path(path, NULL) != TIDE_OK || access(path, F_OK) != 0) {
        return TIDE_OK;
    }
    tide_status status = tide_calibration_read(path, ret, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "run `tidemark bench calibrate` again");
        return status;
    }
    tide_calibration_cpu(cpu);
    *ret_has = strcmp(cpu, ret->cpu) == 0;
    if (!*ret_has && command != NULL) {
        tide_cli_note(command,
                      "%s is of another processor, %s, and is not used: run `tidemark bench "
                      "calibrate` on this machine",
                      path, ret->cpu);
    }
    return TIDE_OK;
}

tide_status tide_host_choose(const tide_host_options *options, const char *command,
                             tide_host_choice *ret, tide_error *error) {
    bool has_own = false;
    if (options->file != NULL && options->factor > 0.0) {
        return tide_fail(error, TIDE_INVALID,
                         "--host and --host-factor both say how fast the host is: leave one out");
    }
    TIDE_TRY(read_own(command, ret->own_path, &ret->own, &has_own, error));
    if (!has_own) {
        ret->own_path[0] = '\0';
    }
    if (options->file != NULL) {
        TIDE_TRY(tide_calibration_read(options->file, &ret->target, error));
    }
    tide_status status = tide_time_host_of(&TIDE_TIME_CONSTANTS, has_own ? &ret->own : NULL,
                                           options->file != NULL ? &ret->target : NULL,
                                           options->factor, &ret->host, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "--host %s", options->file);
    }
    return status;
}

tide_status tide_host_check_cards(const char *option, const char *cards, tide_error *error) {
    tide_card card;
    tide_time_card rates;
    for (size_t i = 0; tide_launch_card(cards, i, &card); i++) {
        tide_status status = tide_time_card_of(&card, &rates, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s", option);
            return status;
        }
    }
    return TIDE_OK;
}
