/* internal.h - the parts of `tidemark devices`, one file each. */
#ifndef TIDE_CLI_DEVICES_INTERNAL_H
#define TIDE_CLI_DEVICES_INTERNAL_H

#include <stdbool.h>

#include "report/table.h"

/* The devices and parts of this machine, and its default PyTorch. */
void tide_devices_add_parts(tide_report *report);

/* The cards, the known figures of their boards, and their sources. */
void tide_devices_add_cards(tide_report *report, bool is_for_programs);

/* Every function of NVIDIA's libraries that the virtual card for programs supports. */
void tide_devices_add_functions(tide_report *report);

#endif
