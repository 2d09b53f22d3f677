/* tidemark devices: the devices of this machine, the cards, and the functions that the virtual card
 * simulates. */
#include "cli/cli.h"
#include "cli/devices/internal.h"
#include "cli/options/report_options.h"

typedef struct devices_options {
    tide_report_options report; /* how the report is printed */
    bool cards, simulated;      /* these tables instead of this machine's devices */
} devices_options;

static const tide_option OPTIONS[] = {
    TIDE_OPTION(FLAG, "cards", NULL, offsetof(devices_options, cards),
                "list the cards of virtual:CARD with the sources of their figures, not what is "
                "here"),
    TIDE_OPTION(FLAG, "simulated", NULL, offsetof(devices_options, simulated),
                "list what the virtual card for programs does with each function of NVIDIA's "
                "libraries, not what is here"),
    TIDE_REPORT_ROWS(offsetof(devices_options, report)),
};

static const tide_option_table TABLE = {
    .command = "devices",
    .intro = "Lists the devices that this machine has, says why one is missing and what would\n"
             "provide it, and which PyTorch python3 has and whether the virtual card serves it.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static int run(int argc, char **argv) {
    devices_options options = {.report = {NULL, NULL, false}};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, NULL, &exit_status)) {
        return exit_status;
    }
    tide_format format = tide_format_chosen(&options.report);
    tide_report report;
    tide_report_init(&report, "devices");
    if (!options.cards && !options.simulated) {
        tide_devices_add_parts(&report);
    }
    if (options.cards) {
        tide_devices_add_cards(&report, tide_format_is_for_programs(format));
    }
    if (options.simulated) {
        tide_devices_add_functions(&report);
    }
    tide_status status = tide_report_end(&report, TIDE_OK, format, &error);
    return tide_cli_end("devices", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_devices = {
    .name = "devices",
    .summary = "what is here, and why anything is missing",
    .options = &TABLE,
    .run = run,
};
