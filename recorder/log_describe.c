/* log_describe.c - writes the properties of the device to the log file, so a recovered recording
 * has them like a snapshot. */
#include <inttypes.h>
#include <stdio.h>

#include "recorder/recorder_friend.h"

static void describe_number(tide_recorder *recorder, const char *key, int64_t number) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    tide_recorder_describe(recorder, key, text);
}

void tide_recorder_describe_device(tide_recorder *recorder, const tide_device_info *info) {
    tide_recorder_describe(recorder, "device.kind", tide_device_kind_name(info->kind));
    tide_recorder_describe(recorder, "device.name", info->name);
    describe_number(recorder, "device.total_bytes", info->total_bytes);
    describe_number(recorder, "device.compute_capability", info->compute_capability);
    describe_number(recorder, "device.driver_version", info->driver_version);
    describe_number(recorder, "device.runtime_version", info->runtime_version);
    describe_number(recorder, "device.sm_clock_khz", info->sm_clock_khz);
    describe_number(recorder, "device.memory_clock_khz", info->memory_clock_khz);
}
