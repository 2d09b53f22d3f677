#include "snapshot/compare/compare.h"

#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/compare/compare_internal.h"
#include "snapshot/document/implementation.h"

enum { N_SETTINGS = 12, SETTING_BYTES = 32, IMPLEMENTATION = 9, DEVICE = 11, MAX_TIMES = 16 };

/* The device of a run: "H200", "cpu". "" if the file has no other description of the run, as in
 * files of other programs: a device may name a run only if all other settings are known to be
 * equal.
 */
static void device_words(const tide_snapshot *snapshot, char words[SETTING_BYTES]) {
    static const char VENDOR[] = "NVIDIA ";
    const tide_snapshot_device *device = NULL;
    for (size_t i = 0; i < snapshot->n_devices && device == NULL; i++) {
        device = tide_snapshot_is_pinned(snapshot, i) ? NULL : &snapshot->devices[i];
    }
    words[0] = '\0';
    if (device != NULL && snapshot->run.precision[0] != '\0') {
        bool is_cpu = strcmp(device->kind, "cpu") == 0;
        bool has_vendor = strncmp(device->name, VENDOR, sizeof(VENDOR) - 1) == 0;
        snprintf(words, SETTING_BYTES, "%.31s",
                 is_cpu ? "cpu" : device->name + (has_vendor ? sizeof(VENDOR) - 1 : 0));
    }
}

/* The settings in which runs may differ, as texts; "" unknown. */
static void settings_of(const tide_snapshot *snapshot, char settings[N_SETTINGS][SETTING_BYTES]) {
    const tide_snapshot_run *run = &snapshot->run;
    const char *texts[] = {run->model.size != NULL ? run->model.size : "", run->precision,
                           run->mode, run->attention, run->recompute};
    enum { N_TEXTS = sizeof(texts) / sizeof(texts[0]) };
    for (size_t i = 0; i < N_TEXTS; i++) {
        snprintf(settings[i], SETTING_BYTES, "%.23s", texts[i]);
    }
    if (strcmp(run->recompute, "none") == 0) {
        snprintf(settings[4], SETTING_BYTES, "no recompute");
    } else if (strcmp(run->recompute, "block") == 0) {
        snprintf(settings[4], SETTING_BYTES, "recompute block");
    }
    settings[5][0] = settings[6][0] = '\0';
    if (run->context_length >= 0) {
        snprintf(settings[5], SETTING_BYTES, "context %lld", (long long)run->context_length);
    }
    if (run->batch_size >= 0) {
        snprintf(settings[6], SETTING_BYTES, "batch %lld", (long long)run->batch_size);
    }
    snprintf(settings[7], SETTING_BYTES, "%s", run->keep_graph ? "keep graph" : "");
    snprintf(settings[8], SETTING_BYTES, "%s", run->clip_grad_norm > 0.0 ? "clipping" : "");
    snprintf(settings[IMPLEMENTATION], SETTING_BYTES, "%s",
             tide_implementation_words(run->implementation));
    snprintf(settings[10], SETTING_BYTES, "%s", run->cuda_graph ? "CUDA graph" : "no CUDA graph");
    device_words(snapshot, settings[DEVICE]);
}

/* A missing name of the implementation is no difference: it may be either. */
static bool is_other(const char *own, const char *other, size_t setting) {
    bool is_known = setting != IMPLEMENTATION || (own[0] != '\0' && other[0] != '\0');
    return is_known && strcmp(own, other) != 0;
}

/* A name for one run, from the settings in which the runs differ: "bf16-mixed context 512 on H200".
 */
static const char *describe(tide_compare *compare, const tide_compare_input *inputs, size_t run) {
    char own[N_SETTINGS][SETTING_BYTES];
    char name[N_SETTINGS * SETTING_BYTES + N_SETTINGS + 1];
    tide_text to = tide_text_in(name, sizeof(name));
    settings_of(inputs[run].snapshot, own);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        bool differs = false;
        for (size_t j = 0; j < compare->n_runs; j++) {
            char other[N_SETTINGS][SETTING_BYTES];
            settings_of(inputs[j].snapshot, other);
            differs = differs || is_other(own[i], other[i], i);
        }
        if (differs && own[i][0] != '\0') {
            tide_text_add_item(&to, i == DEVICE ? " on " : " ", "%s", own[i]);
        }
    }
    return tide_arena_text(&compare->arena, name);
}

/* A file's name without its folders. */
static const char *own_name(const char *label) {
    const char *slash = strrchr(label, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : label;
}

/* Names the runs by their labels, without folders if those suffice. */
static void name_by_labels(tide_compare *compare) {
    bool distinct = true;
    for (size_t i = 0; i < compare->n_runs; i++) {
        for (size_t j = 0; j < i; j++) {
            distinct = distinct && strcmp(own_name(compare->runs[i].label),
                                          own_name(compare->runs[j].label)) != 0;
        }
    }
    for (size_t i = 0; i < compare->n_runs; i++) {
        const char *label = compare->runs[i].label;
        compare->runs[i].name = distinct ? own_name(label) : label;
    }
}

/* Finds distinct names: by settings if these suffice, else by the labels. */
static tide_status name_runs(tide_compare *compare, const tide_compare_input *inputs) {
    bool distinct = true;
    bool are_given = true;
    for (size_t i = 0; i < compare->n_runs; i++) {
        are_given = are_given && inputs[i].name != NULL;
    }
    for (size_t i = 0; i < compare->n_runs; i++) {
        compare->runs[i].label = inputs[i].label;
        if (are_given) {
            compare->runs[i].name = inputs[i].name;
            continue;
        }
        compare->runs[i].name = describe(compare, inputs, i);
        if (compare->runs[i].name == NULL) {
            return TIDE_NO_MEMORY;
        }
        distinct = distinct && compare->runs[i].name[0] != '\0';
        for (size_t j = 0; j < i; j++) {
            distinct = distinct && strcmp(compare->runs[i].name, compare->runs[j].name) != 0;
        }
    }
    if (!distinct) {
        name_by_labels(compare);
    }
    return TIDE_OK;
}

/* The comparison's number of a name, added if new; `names` has room for it. */
static uint32_t number_of_category(tide_compare *compare, const char **names, const char *name) {
    size_t i = 0;
    while (i < compare->n_categories && strcmp(names[i], name) != 0) {
        i++;
    }
    if (i == compare->n_categories) {
        names[compare->n_categories++] = name;
    }
    return (uint32_t)i;
}

/* Makes one list of categories for all runs, because each file numbers its own categories. */
static tide_status align_categories(tide_compare *compare, const tide_compare_input *inputs) {
    size_t n_room = TIDE_N_CATEGORIES;
    for (size_t i = 0; i < compare->n_runs; i++) {
        n_room += inputs[i].snapshot->n_own_categories;
    }
    const char **names = tide_arena_alloc(&compare->arena, n_room, sizeof(*names));
    if (names == NULL) {
        return TIDE_NO_MEMORY;
    }
    compare->categories = names;
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_snapshot *snapshot = inputs[i].snapshot;
        size_t n = tide_snapshot_n_categories(snapshot);
        uint32_t *category_of = tide_arena_alloc(&compare->arena, n, sizeof(*category_of));
        if (category_of == NULL) {
            return TIDE_NO_MEMORY;
        }
        for (size_t j = 0; j < n; j++) {
            TIDE_ASSERT(compare->n_categories <= n_room);
            category_of[j] =
                number_of_category(compare, names, tide_snapshot_category(snapshot, j));
        }
        compare->runs[i].categories = compare->categories;
        compare->runs[i].category_of = category_of;
    }
    return TIDE_OK;
}

/* `bytes`: one entry per category of the comparison; zeroed. */
static void fill_memory(const tide_compare *compare, tide_compare_run *run, int64_t *bytes,
                        const tide_summary *summary) {
    run->category_bytes = bytes;
    run->n_categories = compare->n_categories;
    if (summary->n_devices == 0 ||
        (run->snapshot->n_events == 0 && run->snapshot->n_start_blocks == 0)) {
        for (size_t i = 0; i < compare->n_categories; i++) {
            bytes[i] = -1;
        }
        run->requested_bytes = run->allocated_bytes = run->active_bytes = run->reserved_bytes = -1;
        return;
    }
    const tide_summary_device *device = &summary->devices[tide_summary_main_device(summary)];
    run->device = device;
    run->requested_bytes = device->max[TIDE_MAX_REQUESTED].bytes;
    run->allocated_bytes = device->max[TIDE_MAX_ALLOCATED].bytes;
    run->active_bytes = device->max[TIDE_MAX_ACTIVE].bytes;
    run->reserved_bytes = device->max[TIDE_MAX_RESERVED].bytes;
    TIDE_ASSERT(device->peak.by_category.n_shares <= tide_snapshot_n_categories(run->snapshot));
    for (size_t i = 0; i < device->peak.by_category.n_shares; i++) {
        bytes[run->category_of[i]] = device->peak.by_category.shares[i].bytes;
    }
    for (size_t i = 0; i < compare->n_categories; i++) {
        if (bytes[i] > bytes[run->dominant]) {
            run->dominant = (int)i;
        }
    }
    run->is_oom = strcmp(run->snapshot->run.outcome, TIDE_SNAPSHOT_OOM) == 0;
}

static size_t find_time(const char *const names[MAX_TIMES], size_t n_names, const char *name) {
    size_t i = 0;
    while (i < n_names && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

static tide_compare_time time_of(const tide_snapshot *snapshot, const char *name) {
    tide_compare_time row = {
        .name = name, .ms = {-1.0, -1.0, -1.0, -1.0, -1.0}, .to_base = {-1.0, -1.0}};
    for (size_t i = 0; i < snapshot->timing.n_phases; i++) {
        const tide_snapshot_phase *phase = &snapshot->timing.phases[i];
        if (strcmp(phase->name, name) != 0) {
            continue;
        }
        row.n_samples = phase->n_samples;
        row.samples = phase->device_ms;
        row.ms = tide_statistics_of(phase->device_ms, phase->n_samples);
        if (row.ms.mean < 0.0) {
            row.samples = phase->host_ms;
            row.ms = tide_statistics_of(phase->host_ms, phase->n_samples);
            row.by_host = true;
        }
        break;
    }
    return row;
}

static tide_status fill_times(tide_compare *compare) {
    const char *names[MAX_TIMES];
    size_t n_names = 0;
    for (size_t i = 0; i < compare->n_runs; i++) {
        const tide_snapshot_timing *timing = &compare->runs[i].snapshot->timing;
        for (size_t j = 0; j < timing->n_phases; j++) {
            size_t at = find_time(names, n_names, timing->phases[j].name);
            if (at == n_names && n_names < MAX_TIMES) {
                names[n_names++] = timing->phases[j].name;
            }
        }
    }
    compare->n_times = n_names;
    for (size_t i = 0; i < compare->n_runs; i++) {
        tide_compare_time *times = tide_arena_alloc(&compare->arena, n_names, sizeof(*times));
        if (times == NULL) {
            return TIDE_NO_MEMORY;
        }
        for (size_t j = 0; j < n_names; j++) {
            times[j] = time_of(compare->runs[i].snapshot, names[j]);
            const tide_compare_time *base = i > 0 ? &compare->runs[0].times[j] : &times[j];
            times[j].to_base = tide_ratio_of_means(times[j].samples, times[j].n_samples,
                                                   base->samples, base->n_samples);
        }
        compare->runs[i].times = times;
    }
    return TIDE_OK;
}

static tide_status fill(tide_compare *compare, const tide_compare_input *inputs,
                        tide_error *error) {
    compare->runs = tide_arena_alloc(&compare->arena, compare->n_runs, sizeof(*compare->runs));
    compare->summaries = tide_arena_alloc(&compare->arena, compare->n_runs, sizeof(tide_summary *));
    if (compare->runs == NULL || compare->summaries == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(name_runs(compare, inputs));
    TIDE_TRY(align_categories(compare, inputs));
    for (size_t i = 0; i < compare->n_runs; i++) {
        int64_t *bytes = tide_arena_alloc(&compare->arena, compare->n_categories, sizeof(*bytes));
        if (bytes == NULL) {
            return TIDE_NO_MEMORY;
        }
        compare->runs[i].snapshot = inputs[i].snapshot;
        tide_status status = tide_summary_create(inputs[i].snapshot, &compare->summaries[i], error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "'%s'", inputs[i].label);
            return status;
        }
        fill_memory(compare, &compare->runs[i], bytes, compare->summaries[i]);
    }
    TIDE_TRY(fill_times(compare));
    compare->sentence = tide_compare_sentence(compare);
    return compare->sentence != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_compare_create(const tide_compare_input *inputs, size_t n_inputs,
                                tide_compare **ret_compare, tide_error *error) {
    if (n_inputs == 0 || n_inputs > TIDE_COMPARE_MAX_RUNS) {
        return tide_fail(error, TIDE_LIMIT, "%zu runs to compare: 1 to %d are possible", n_inputs,
                         TIDE_COMPARE_MAX_RUNS);
    }
    const tide_hostmem *mem = inputs[0].snapshot->arena.mem;
    tide_compare *compare = tide_hostmem_zeroed(mem, 1, sizeof(*compare));
    if (compare == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_arena_init(&compare->arena, mem);
    compare->n_runs = n_inputs;
    tide_status status = fill(compare, inputs, error);
    if (status != TIDE_OK) {
        tide_compare_destroy(compare);
        return status;
    }
    *ret_compare = compare;
    return TIDE_OK;
}

void tide_compare_destroy(tide_compare *compare) {
    if (compare == NULL) {
        return;
    }
    const tide_hostmem *mem = compare->arena.mem;
    for (size_t i = 0; compare->summaries != NULL && i < compare->n_runs; i++) {
        tide_summary_destroy(compare->summaries[i]);
    }
    tide_arena_fini(&compare->arena);
    mem->release(mem->ctx, compare);
}
