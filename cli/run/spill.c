/* The part of a program's memory that was in the host, because the virtual card was full
 * (--spill). */
#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"

static void tell_card(const tide_run_device *device, size_t number) {
    char in_host[TIDE_BYTES_TEXT];
    char total[TIDE_BYTES_TEXT];
    char context[TIDE_BYTES_TEXT];
    if (device->peak_bytes <= device->total_bytes) {
        tide_cli_note(TIDE_COMMAND_RUN, "card %zu: nothing is in the host's memory", number);
        return;
    }
    tide_cli_note(
        TIDE_COMMAND_RUN,
        "card %zu: %s lie in the host's memory at most: the card has %s, %s of it contexts and "
        "libraries; %llu of its allocations found it full. Which pages a real driver keeps on the "
        "card is its choice",
        number, tide_bytes_format((int64_t)(device->peak_bytes - device->total_bytes), in_host),
        tide_bytes_format((int64_t)device->total_bytes, total),
        tide_bytes_format((int64_t)device->peak_context_bytes, context),
        (unsigned long long)device->n_spilled);
}

void tide_run_tell_spill(const tide_run_answer *of) {
    for (size_t i = 0; i < TIDE_RUN_DEVICES; i++) {
        const tide_run_device *device = &of->list->devices[i];
        if (device->total_bytes > 0 && device->spill_bytes > 0) {
            tell_card(device, i);
        }
    }
}
