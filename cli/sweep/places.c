/* Where and by what the cells of a sweep were run. The parts of one sweep may come from several
 * machines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/sweep/internal.h"
#include "common/plural.h"

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

static void cell_version(tide_table *table, int version) {
    char text[32];
    if (version < 0) {
        tide_cell_none(table);
        return;
    }
    (void)snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
    tide_cell_text(table, text);
}

static void cell_capability(tide_table *table, int capability) {
    char text[32];
    if (capability < 0) {
        tide_cell_none(table);
        return;
    }
    (void)snprintf(text, sizeof(text), "%d.%d", capability / 10, capability % 10);
    tide_cell_text(table, text);
}

static void cell_mhz(tide_table *table, int khz) {
    if (khz < 0) {
        tide_cell_none(table);
    } else {
        tide_cell_count(table, khz / 1000);
    }
}

void tide_sweep_cell_words(tide_table *table, const char *text) {
    if (text[0] == '\0') {
        tide_cell_none(table);
    } else {
        tide_cell_text(table, text);
    }
}

void tide_sweep_place_columns(tide_table *table) {
    static const struct {
        const char *key, *title;
        bool is_number;
    } COLUMNS[] = {
        {"device", "device", false},
        {"device_name", "name", false},
        {"device_total_bytes", "memory", true},
        {"compute_capability", "capability", true},
        {"driver", "driver", false},
        {"driver_cuda", "driver's CUDA", true},
        {"runtime_cuda", "runtime", true},
        {"sm_clock_mhz", "SM clock, MHz", true},
        {"memory_clock_mhz", "memory clock, MHz", true},
        {"computed_by", "computed by", false},
        {"host", "host", false},
        {"os", "system", false},
        {"cpu", "processor", false},
        {"cpus", "CPUs", true},
        {"host_total_bytes", "host memory", true},
        {"tool", "program", false},
        {"build", "build", false},
    };
    for (size_t i = 0; i < sizeof(COLUMNS) / sizeof(COLUMNS[0]); i++) {
        tide_table_column(table, COLUMNS[i].key, COLUMNS[i].title, COLUMNS[i].is_number);
    }
}

void tide_sweep_place_cells(tide_table *table, const tide_run_environment *place) {
    tide_sweep_cell_words(table, place->device_kind);
    tide_sweep_cell_words(table, place->device_name);
    tide_cell_bytes(table, place->device_total_bytes);
    cell_capability(table, place->compute_capability);
    tide_sweep_cell_words(table, place->driver);
    cell_version(table, place->driver_version);
    cell_version(table, place->runtime_version);
    cell_mhz(table, place->sm_clock_khz);
    cell_mhz(table, place->memory_clock_khz);
    tide_sweep_cell_words(table, place->computed_by);
    tide_sweep_cell_words(table, place->host.name);
    tide_sweep_cell_words(table, place->host.os);
    tide_sweep_cell_words(table, place->host.cpu);
    tide_cell_count(table, place->host.n_cpus);
    tide_cell_bytes(table, place->host.total_bytes);
    tide_sweep_cell_words(table, place->tool);
    tide_sweep_cell_words(table, place->build);
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
