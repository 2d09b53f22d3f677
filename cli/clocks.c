#include "cli/clocks.h"

#include <string.h>

#include "common/statistics.h"
#include "snapshot/explain/work_shares.h"

/* The clocks of one phase; -1 if a clock has no value. */
typedef struct phase_clocks {
    const char *name;
    tide_statistics wall, device; /* in ms */
    double kernels_ms;            /* of a step, all kernels together */
} phase_clocks;

enum { MAX_PHASES = 8 };

/* All kernels of a phase together; of "step", those of all phases. -1 if none was traced. */
static double kernels_of(const tide_work_shares *kernels, const char *phase) {
    double all_ms = 0.0;
    for (size_t i = 0; i < kernels->n_phases; i++) {
        if (strcmp(kernels->phases[i].name, phase) == 0) {
            return kernels->phases[i].ms;
        }
        all_ms += kernels->phases[i].ms;
    }
    return strcmp(phase, "step") == 0 && kernels->n_phases > 0 ? all_ms : -1.0;
}

/* The device's samples are used only if it has its own clock: otherwise they are readings of the
 * host's clock. */
static size_t read_clocks(const tide_snapshot *snapshot, const tide_work_shares *kernels,
                          phase_clocks clocks[MAX_PHASES]) {
    const tide_snapshot_timing *timing = &snapshot->timing;
    bool has_device = snapshot->n_devices > 0 && strcmp(snapshot->devices[0].kind, "cuda") == 0;
    size_t n = 0;
    for (size_t i = 0; i < timing->n_phases && n < MAX_PHASES; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        clocks[n] = (phase_clocks){
            .name = phase->name,
            .wall = tide_statistics_of(phase->host_ms, phase->n_samples),
            .device = tide_statistics_of(phase->device_ms, has_device ? phase->n_samples : 0),
            .kernels_ms = kernels_of(kernels, phase->name),
        };
        n += clocks[n].wall.mean >= 0.0;
    }
    return n;
}

static tide_cell ratio_of(double ms, double base_ms) {
    return ms >= 0.0 && base_ms > 0.0 ? tide_as_ratio(ms / base_ms) : tide_as_none();
}

static void add_table(tide_report *report, const phase_clocks *clocks, size_t n) {
    tide_table *table = tide_report_table(report, "clocks", "the clocks of each phase");
    TIDE_COLUMNS(table, TIDE_TEXT("phase", "phase"), TIDE_NUMBER("wall_ms", "wall clock"),
                 TIDE_NUMBER("wall_std_ms", "± sample std"), TIDE_NUMBER("device_ms", "device"),
                 TIDE_NUMBER("device_std_ms", "± sample std"),
                 TIDE_NUMBER("kernels_ms", "sum of kernels"),
                 TIDE_NUMBER("wall_to_device", "wall : device"),
                 TIDE_NUMBER("kernels_to_device", "kernels : device"));
    for (size_t i = 0; i < n; i++) {
        const phase_clocks *of = &clocks[i];
        TIDE_ROW(table, tide_as_text(of->name), tide_as_ms(of->wall.mean), tide_as_ms(of->wall.std),
                 tide_as_ms(of->device.mean), tide_as_ms(of->device.std),
                 tide_as_ms(of->kernels_ms), ratio_of(of->wall.mean, of->device.mean),
                 ratio_of(of->kernels_ms, of->device.mean));
    }
}

/* Adds the conclusion about the last row, the whole step. */
static void say(tide_report *report, const phase_clocks *step) {
    tide_report_say(report, "clocks",
                    "wall clock: from the begin of a phase until the host has waited for its end%s",
                    step->device.mean >= 0.0
                        ? "; device: between two events of the device around the phase"
                        : "; the device has no clock of its own");
    if (step->device.mean <= 0.0) {
        return;
    }
    double late_ms = step->wall.mean - step->device.mean;
    const char *idle = "";
    if (step->kernels_ms >= 0.0 && step->kernels_ms <= step->device.mean) {
        idle = tide_report_text(report, ", and for %.1f %% of the device's time no kernel ran",
                                100.0 * (1.0 - step->kernels_ms / step->device.mean));
    } else if (step->kernels_ms >= 0.0) {
        idle = ", and the kernels together take longer than that, so that some ran at once";
    }
    tide_report_say(
        report, "clocks", "%s: the wall clock shows %.3f ms %s than the device's, %.1f %% of it%s",
        step->name, late_ms >= 0.0 ? late_ms : -late_ms, late_ms >= 0.0 ? "more" : "less",
        100.0 * (late_ms >= 0.0 ? late_ms : -late_ms) / step->device.mean, idle);
}

tide_status tide_add_clocks(tide_report *report, const tide_snapshot *snapshot) {
    phase_clocks clocks[MAX_PHASES];
    tide_work_shares kernels;
    if (!snapshot->timing.phases_synced) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_work_shares_init(&kernels, snapshot, true));
    size_t n = read_clocks(snapshot, &kernels, clocks);
    tide_work_shares_fini(&kernels);
    if (n > 0) {
        add_table(report, clocks, n);
        say(report, &clocks[n - 1]); /* the whole step is last */
    }
    return TIDE_OK;
}
