#include "programs/runs/environment.h"

#include <stdio.h>
#include <string.h>

#include "common/files/text_file.h"
#include "programs/runs/run_friend.h"

#define PLACE(key, kind, member) TIDE_JSON_FIELD(tide_run_environment, kind, key, member)

const tide_json_field tide_run_environment_fields[TIDE_N_ENVIRONMENT_FIELDS] = {
    PLACE("device_kind", TIDE_JSON_FIELD_TEXT, device_kind),
    PLACE("device_name", TIDE_JSON_FIELD_TEXT, device_name),
    PLACE("device_total_bytes", TIDE_JSON_FIELD_INT64, device_total_bytes),
    PLACE("compute_capability", TIDE_JSON_FIELD_INT, compute_capability),
    PLACE("driver_version", TIDE_JSON_FIELD_INT, driver_version),
    PLACE("runtime_version", TIDE_JSON_FIELD_INT, runtime_version),
    PLACE("driver", TIDE_JSON_FIELD_TEXT, driver),
    PLACE("sm_clock_khz", TIDE_JSON_FIELD_INT, sm_clock_khz),
    PLACE("memory_clock_khz", TIDE_JSON_FIELD_INT, memory_clock_khz),
    TIDE_JSON_FIELD_OPTIONAL(tide_run_environment, TIDE_JSON_FIELD_INT, "memory_bus_bits",
                             memory_bus_bits),
    PLACE("computed_by", TIDE_JSON_FIELD_TEXT, computed_by),
    PLACE("tool", TIDE_JSON_FIELD_TEXT, tool),
    PLACE("build", TIDE_JSON_FIELD_TEXT, build),
    PLACE("host_name", TIDE_JSON_FIELD_TEXT, host.name),
    PLACE("host_os", TIDE_JSON_FIELD_TEXT, host.os),
    PLACE("host_cpu", TIDE_JSON_FIELD_TEXT, host.cpu),
    PLACE("host_cpus", TIDE_JSON_FIELD_INT64, host.n_cpus),
    PLACE("host_total_bytes", TIDE_JSON_FIELD_INT64, host.total_bytes),
};

void tide_run_environment_init(tide_run_environment *environment) {
    *environment = (tide_run_environment){.device_total_bytes = -1,
                                          .compute_capability = -1,
                                          .driver_version = -1,
                                          .runtime_version = -1,
                                          .sm_clock_khz = -1,
                                          .memory_clock_khz = -1,
                                          .memory_bus_bits = -1,
                                          .host = {.n_cpus = -1, .total_bytes = -1}};
}

void tide_run_environment_set_device(tide_run_environment *environment,
                                     const tide_device_info *device, const char *computed_by) {
    snprintf(environment->device_kind, sizeof(environment->device_kind), "%s",
             tide_device_kind_name(device->kind));
    snprintf(environment->device_name, sizeof(environment->device_name), "%s", device->name);
    /* The cpu device's total is the host's free memory at the moment. It differs from run to run,
     * so every run would get its own environment. */
    environment->device_total_bytes = device->kind == TIDE_DEVICE_CPU ? -1 : device->total_bytes;
    environment->compute_capability = device->compute_capability;
    environment->driver_version = device->driver_version;
    environment->runtime_version = device->runtime_version;
    environment->sm_clock_khz = device->sm_clock_khz;
    environment->memory_clock_khz = device->memory_clock_khz;
    environment->memory_bus_bits = device->memory_bus_bits;
    if (device->kind == TIDE_DEVICE_CUDA) {
        (void)tide_text_file_value("/proc/driver/nvidia/version", "NVRM version", ':',
                                   environment->driver, sizeof(environment->driver));
    }
    snprintf(environment->computed_by, sizeof(environment->computed_by), "%s", computed_by);
}

void tide_run_environment_set_program(tide_run_environment *environment) {
    snprintf(environment->tool, sizeof(environment->tool), "tidemark %s", TIDEMARK_VERSION);
    snprintf(environment->build, sizeof(environment->build), "%s", TIDEMARK_BUILD);
    tide_host_get_info(&environment->host);
}

bool tide_run_environment_join(tide_run_environment *place, const tide_run_environment *other) {
    for (size_t i = 0; i < TIDE_N_ENVIRONMENT_FIELDS; i++) {
        const tide_json_field *field = &tide_run_environment_fields[i];
        if (!tide_field_is_equal(field, place, other) && tide_field_is_known(field, place) &&
            tide_field_is_known(field, other)) {
            return false;
        }
    }
    for (size_t i = 0; i < TIDE_N_ENVIRONMENT_FIELDS; i++) {
        const tide_json_field *field = &tide_run_environment_fields[i];
        if (tide_field_is_known(field, other)) {
            memcpy((char *)place + field->offset, (const char *)other + field->offset,
                   field->n_bytes);
        }
    }
    return true;
}
