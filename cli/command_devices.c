/* tidemark devices: what is here, and why anything is missing. */
#include <stdio.h>

#include "allocator/cards.h"
#include "allocator/device.h"
#include "allocator/recorder.h"
#include "capture/host.h"
#include "cli/cli.h"
#include "common/bytes.h"

static const tide_option_table TABLE = {
    .command = "devices",
    .intro = "Tells which devices this machine has, and why anything is missing.\n",
};

static int run(int argc, char **argv) {
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, NULL, NULL, &exit_status)) {
        return exit_status;
    }
    return tide_cli_finish("devices", TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_devices = {
    .name = "devices",
    .summary = "what is here, and why anything is missing",
    .options = &TABLE,
    .run = run,
};
