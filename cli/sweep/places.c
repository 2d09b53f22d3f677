/* The environments in which the cells of a sweep were run. The parts of one sweep may come from
 * several machines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/sweep/internal.h"
#include "common/text/plural.h"

enum { MAX_PLACES = 64 };

void tide_sweep_places_fini(tide_sweep_places *found) {
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, found->places);
    mem->release(mem->ctx, found->of_cell);
}

tide_status tide_sweep_places_init(const tide_sweep *sweep, tide_sweep_places *ret) {
    const tide_hostmem *mem = tide_hostmem_default();
    *ret = (tide_sweep_places){.places = tide_hostmem_zeroed(mem, MAX_PLACES, sizeof(*ret->places)),
                               .of_cell =
                                   tide_hostmem_zeroed(mem, sweep->n_cells, sizeof(*ret->of_cell))};
    if (ret->places == NULL || ret->of_cell == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < sweep->n_cells; i++) {
        size_t at = 0;
        if (sweep->rows[i] == NULL) {
            continue;
        }
        const tide_run_environment *own = &sweep->rows[i]->result.environment;
        while (at < ret->n_places && !tide_run_environment_join(&ret->places[at], own)) {
            at++;
        }
        if (at == ret->n_places && at < MAX_PLACES) {
            ret->places[ret->n_places++] = *own;
        }
        ret->of_cell[i] = at < MAX_PLACES ? at + 1 : 0;
    }
    return TIDE_OK;
}

enum { VERSION_BYTES = 32 };

/* "12.8"; "" for an unknown version. */
static void format_version(int version, int major, int minor, char text[VERSION_BYTES]) {
    text[0] = '\0';
    if (version >= 0) {
        (void)snprintf(text, VERSION_BYTES, "%d.%d", major, minor);
    }
}

/* As CUDA counts them: 12080 is 12.8. */
static void format_cuda(int version, char text[VERSION_BYTES]) {
    format_version(version, version / 1000, version % 1000 / 10, text);
}

static tide_cell as_mhz(int khz) {
    return khz < 0 ? tide_as_none() : tide_as_count(khz / 1000);
}

void tide_sweep_place_columns(tide_table *table) {
    TIDE_COLUMNS(table, TIDE_TEXT("device", "device"), TIDE_TEXT("device_name", "name"),
                 TIDE_NUMBER("device_total_bytes", "memory"),
                 TIDE_NUMBER("compute_capability", "capability"), TIDE_TEXT("driver", "driver"),
                 TIDE_NUMBER("driver_cuda", "driver's CUDA"),
                 TIDE_NUMBER("runtime_cuda", "runtime"),
                 TIDE_NUMBER("sm_clock_mhz", "SM clock, MHz"),
                 TIDE_NUMBER("memory_clock_mhz", "memory clock, MHz"),
                 TIDE_TEXT("computed_by", "computed by"), TIDE_TEXT("host", "host"),
                 TIDE_TEXT("os", "system"), TIDE_TEXT("cpu", "processor"),
                 TIDE_NUMBER("cpus", "CPUs"), TIDE_NUMBER("host_total_bytes", "host memory"),
                 TIDE_TEXT("tool", "program"), TIDE_TEXT("build", "build"));
}

void tide_sweep_place_cells(tide_table *table, const tide_run_environment *place) {
    char capability[VERSION_BYTES];
    char driver[VERSION_BYTES];
    char runtime[VERSION_BYTES];
    int compute = place->compute_capability;
    format_version(compute, compute / 10, compute % 10, capability);
    format_cuda(place->driver_version, driver);
    format_cuda(place->runtime_version, runtime);
    TIDE_CELLS(table, tide_as_words(place->device_kind), tide_as_words(place->device_name),
               tide_as_bytes(place->device_total_bytes), tide_as_words(capability),
               tide_as_words(place->driver), tide_as_words(driver), tide_as_words(runtime),
               as_mhz(place->sm_clock_khz), as_mhz(place->memory_clock_khz),
               tide_as_words(place->computed_by), tide_as_words(place->host.name),
               tide_as_words(place->host.os), tide_as_words(place->host.cpu),
               tide_as_count(place->host.n_cpus), tide_as_bytes(place->host.total_bytes),
               tide_as_words(place->tool), tide_as_words(place->build));
}

/* The same for people: one sentence for each environment, without what is unknown. */
void tide_sweep_say_places(const tide_sweep_places *found, tide_report *report) {
    for (size_t i = 0; i < found->n_places; i++) {
        const tide_run_environment *place = &found->places[i];
        char number[32] = "";
        char device[512];
        if (found->n_places > 1) {
            (void)snprintf(number, sizeof(number), " %zu", i + 1);
        }
        (void)snprintf(device, sizeof(device), "%s", place->device_name);
        if (strcmp(place->device_kind, "cuda") == 0) {
            (void)snprintf(device, sizeof(device),
                           "%s, driver %s (CUDA %d.%d), runtime %d.%d, clocks up to %d MHz, of "
                           "memory %d MHz",
                           place->device_name, place->driver[0] != '\0' ? place->driver : "unknown",
                           place->driver_version / 1000, place->driver_version % 1000 / 10,
                           place->runtime_version / 1000, place->runtime_version % 1000 / 10,
                           place->sm_clock_khz / 1000, place->memory_clock_khz / 1000);
        }
        tide_report_say(report, "environment",
                        "environment%s: %s%s%s; host %s%s%s, %" PRId64 " CPU%s, %s; %s (%s)",
                        number, device, place->computed_by[0] != '\0' ? "; computed by " : "",
                        place->computed_by, place->host.name,
                        place->host.name[0] != '\0' ? ", " : "", place->host.cpu,
                        place->host.n_cpus, tide_plural((uint64_t)place->host.n_cpus, "", "s"),
                        place->host.os, place->tool, place->build);
    }
}
