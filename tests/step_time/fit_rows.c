#define _DEFAULT_SOURCE /* strsep */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/wire/stated_host.h"
#include "step_time/fit.h"

static bool is(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/* ---- traces ---- */

static bool is_same_work(const tide_run_launch *a, const tide_run_launch *b) {
    return a->kind == b->kind && a->family == b->family && a->bytes == b->bytes &&
           a->elements == b->elements && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->count == b->count && a->type == b->type && a->out_type == b->out_type &&
           a->flags == b->flags;
}

/* Layers repeat, so the same work is not far away. */
static void find_same(fit_trace *trace) {
    size_t uniques[4096];
    size_t n = 0;
    for (size_t i = 0; i < trace->log.n_rows; i++) {
        size_t j = 0;
        while (j < n && !is_same_work(&trace->log.rows[uniques[j]], &trace->log.rows[i])) {
            j++;
        }
        if (j == n && n < sizeof(uniques) / sizeof(uniques[0])) {
            uniques[n++] = i;
        }
        trace->same[i] = j < n ? uniques[j] : i;
    }
}

/* The step at the lower quartile of the host's time of the steps after the first. */
static size_t quiet_step(const fit_trace *trace) {
    const tide_time_ranges *of = &trace->ranges;
    size_t first = of->n_steps > 1 ? 1 : 0;
    size_t n = of->n_steps - first;
    for (size_t i = first; i < of->n_steps; i++) {
        size_t n_below = 0;
        const tide_run_launch *rows = trace->log.rows;
        int64_t ns = rows[of->steps[i].last].host_ns - rows[of->steps[i].first].host_ns;
        for (size_t j = first; j < of->n_steps; j++) {
            int64_t other = rows[of->steps[j].last].host_ns - rows[of->steps[j].first].host_ns;
            n_below += other < ns || (other == ns && j < i);
        }
        if (n_below == (n - 1) / 4) {
            return i;
        }
    }
    return first;
}

static bool read_trace(fit_trace *trace, const char *folder) {
    char path[512];
    tide_error error = {""};
    (void)snprintf(path, sizeof(path), "%s/%s.launches", folder, trace->name);
    if (tide_time_log_read(tide_hostmem_default(), path, &trace->log, &error) != TIDE_OK ||
        tide_time_ranges_init(&trace->log, &trace->ranges) != TIDE_OK || trace->ranges.is_whole) {
        (void)fprintf(stderr, "fit: %s\n", error.message[0] != '\0' ? error.message : path);
        return false;
    }
    size_t step = quiet_step(trace);
    for (size_t i = 0; i < trace->ranges.n_phases; i++) {
        const tide_time_range *phase = &trace->ranges.phases[i];
        if (phase->step == step) {
            trace->first[phase->phase] = phase->first;
            trace->last[phase->phase] = phase->last;
        }
    }
    size_t n = trace->log.n_rows + 1;
    trace->same = calloc(n, sizeof(*trace->same));
    trace->work = calloc(n, sizeof(*trace->work));
    trace->once = calloc(n, sizeof(*trace->once));
    trace->zeros = calloc(n, sizeof(*trace->zeros));
    trace->is_done = calloc(n, sizeof(*trace->is_done));
    if (trace->same == NULL || trace->work == NULL || trace->once == NULL || trace->zeros == NULL ||
        trace->is_done == NULL) {
        return false;
    }
    find_same(trace);
    return true;
}

static fit_trace *trace_of(fit_data *data, const fit_row *row, const char *folder) {
    char name[2 * FIT_TEXT];
    (void)snprintf(name, sizeof(name), "%s-%d-%s", row->size, row->context,
                   is(row->precision, "bf16") ? "bf16" : "fp32");
    for (size_t i = 0; i < data->n_traces; i++) {
        if (is(data->traces[i].name, name)) {
            return &data->traces[i];
        }
    }
    fit_trace *made = &data->traces[data->n_traces];
    (void)snprintf(made->name, sizeof(made->name), "%.*s", FIT_TEXT - 1, name);
    if (data->n_traces == FIT_MAX_TRACES || !read_trace(made, folder)) {
        return NULL;
    }
    data->n_traces++;
    return made;
}

/* ---- this machine's slow minutes ---- */

static size_t n_launches(const fit_trace *trace, size_t phase) {
    size_t n = 0;
    for (size_t i = trace->first[phase]; i < trace->last[phase]; i++) {
        n += trace->log.rows[i].kind >= TIDE_RUN_KERNEL &&
             trace->log.rows[i].kind <= TIDE_RUN_GRAPH_LAUNCH;
    }
    return n;
}

static double ns_of(const fit_trace *trace, size_t phase) {
    return (double)(trace->log.rows[trace->last[phase]].host_ns -
                    trace->log.rows[trace->first[phase]].host_ns);
}

static bool is_half(const fit_trace *trace) {
    return strstr(trace->name, "bf16") != NULL;
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Later rows move with the end of the phase. */
static void scale_phase(fit_trace *trace, size_t phase, double factor) {
    tide_run_launch *rows = trace->log.rows;
    int64_t start = rows[trace->first[phase]].host_ns;
    int64_t end = rows[trace->last[phase]].host_ns;
    int64_t moved = (int64_t)((double)(end - start) * (factor - 1.0));
    for (size_t r = trace->first[phase]; r < trace->log.n_rows; r++) {
        rows[r].host_ns = r < trace->last[phase]
                              ? start + (int64_t)((double)(rows[r].host_ns - start) * factor)
                              : rows[r].host_ns + moved;
    }
}

/* By precision and phase: forward, backward, optimizer. */
static const double STATED_NS[2][TIDE_TIME_N_PHASES] = {
    {TIDE_STATED_FORWARD_NS, TIDE_STATED_BACKWARD_NS, TIDE_STATED_OPTIMIZER_NS, 0.0},
    {TIDE_STATED_MIXED_FORWARD_NS, TIDE_STATED_BACKWARD_NS, TIDE_STATED_OPTIMIZER_NS, 0.0}};

/* The host's time of a launch is the same for all sizes, to some 5 %; other work on the machine
 * makes it longer. So each phase gets the lower quartile over the sizes. */
static void settle_host(fit_data *data, size_t phase, bool half, bool is_stated) {
    double rates[FIT_MAX_TRACES];
    size_t n = 0;
    for (size_t i = 0; i < data->n_traces; i++) {
        const fit_trace *trace = &data->traces[i];
        if (is_half(trace) == half && n_launches(trace, phase) > 0) {
            rates[n++] = ns_of(trace, phase) / (double)n_launches(trace, phase);
        }
    }
    qsort(rates, n, sizeof(rates[0]), by_value);
    double stated_ns = STATED_NS[half][phase];
    double wanted_ns = n == 0 ? 0.0 : is_stated && stated_ns > 0.0 ? stated_ns : rates[(n - 1) / 4];
    for (size_t i = 0; i < data->n_traces && n > 0; i++) {
        fit_trace *trace = &data->traces[i];
        if (is_half(trace) != half || n_launches(trace, phase) == 0) {
            continue;
        }
        double factor = wanted_ns * (double)n_launches(trace, phase) / ns_of(trace, phase);
        scale_phase(trace, phase, factor);
    }
}

/* ---- the table ---- */

static const char *card_name(const char *card) {
    return is(card, "h100") ? "h100-80" : card;
}

/* Hosts differ between what one author measured at different times. */
static void name_session(const fit_row *row, char *ret, size_t n_room) {
    bool is_step = is(row->phase, "step");
    const char *more = strncmp(row->source, "charliesabino", 13) == 0 ? row->precision
                       : strncmp(row->source, "yyin", 4) == 0         ? (is_step ? "step" : "apart")
                       : strncmp(row->source, "brandon", 7) == 0 && !is(row->precision, "tf32")
                           ? "mixed"
                           : "";
    (void)snprintf(ret, n_room, "%.40s %.12s %.8s", row->source, row->card, more);
}

static size_t session_of(fit_data *data, const fit_row *row) {
    char name[FIT_TEXT];
    name_session(row, name, sizeof(name));
    size_t i = 0;
    while (i < data->n_sessions && !is(data->sessions[i], name)) {
        i++;
    }
    if (i == data->n_sessions) {
        (void)snprintf(data->sessions[data->n_sessions++], FIT_TEXT, "%s", name);
    }
    return i;
}

static bool add_row(fit_data *data, char *line, const char *folder) {
    char *fields[24];
    size_t n = 0;
    for (char *at = line; at != NULL && n < 24;) {
        fields[n++] = strsep(&at, ",");
    }
    if (n < 15 || is(fields[0], "source") || data->n_rows == FIT_MAX_ROWS) {
        return true;
    }
    fit_row *row = &data->rows[data->n_rows];
    *row = (fit_row){.context = atoi(fields[11]), .published_ms = atof(fields[14])};
    (void)snprintf(row->source, FIT_TEXT, "%s", fields[0]);
    (void)snprintf(row->card, FIT_TEXT, "%s", fields[2]);
    (void)snprintf(row->size, FIT_TEXT, "%s", fields[5]);
    (void)snprintf(row->precision, FIT_TEXT, "%s", fields[12]);
    (void)snprintf(row->phase, FIT_TEXT, "%s", fields[13]);
    const tide_card *card = tide_card_find(card_name(row->card));
    tide_error error = {""};
    row->trace = trace_of(data, row, folder);
    if (card == NULL || row->trace == NULL ||
        tide_time_card_of(card, &row->rates, &error) != TIDE_OK) {
        (void)fprintf(stderr, "fit: %s %s %d: no log or no card\n", row->card, row->size,
                      row->context);
        return false;
    }
    row->session = session_of(data, row);
    data->n_rows++;
    return true;
}

bool fit_read(const char *times, const char *folder, bool has_stated_host, fit_data *data) {
    FILE *file = fopen(times, "r");
    char line[1024];
    bool is_whole = file != NULL;
    if (file == NULL) {
        perror(times);
        return false;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        is_whole = add_row(data, line, folder) && is_whole;
    }
    (void)fclose(file);
    for (size_t phase = 0; phase < TIDE_TIME_N_PHASES; phase++) {
        settle_host(data, phase, false, has_stated_host);
        settle_host(data, phase, true, has_stated_host);
    }
    return is_whole && data->n_rows > 0;
}

/* ---- predictions ---- */

/* The rows of the phases that a published time covers. */
static size_t phases_of(const char *phase, size_t *ret_first) {
    *ret_first = is(phase, "bwd") ? TIDE_TIME_BACKWARD : TIDE_TIME_FORWARD;
    return is(phase, "step")  ? TIDE_TIME_OPTIMIZER + 1
           : is(phase, "fwd") ? TIDE_TIME_FORWARD + 1
                              : TIDE_TIME_BACKWARD + 1;
}

double fit_predict(fit_row *row, const tide_time_constants *constants, double factor) {
    size_t phase = 0;
    size_t end = phases_of(row->phase, &phase);
    fit_trace *trace = row->trace;
    size_t first = trace->first[phase];
    size_t last = trace->last[end - 1];
    const tide_time_factors factors = {factor, TIDE_TIME_LIKELY, false};
    tide_time_model model = {.log = &trace->log,
                             .constants = constants,
                             .card = &row->rates,
                             .work = trace->work,
                             .lanes = trace->zeros,
                             .streams = trace->zeros,
                             .n_lanes = 1,
                             .n_events = 1};
    bool is_tf32 = is(row->precision, "tf32");
    memset(trace->is_done, 0, trace->log.n_rows * sizeof(*trace->is_done));
    for (size_t i = first; i < last; i++) {
        size_t same = trace->same[i];
        if (!trace->is_done[same]) {
            tide_run_launch launch = trace->log.rows[same];
            launch.type = is_tf32 && launch.kind == TIDE_RUN_PRODUCT && launch.type == TIDE_RUN_FP32
                              ? TIDE_RUN_TF32
                              : launch.type;
            trace->once[same] = tide_work_time_of(constants, &row->rates, &launch);
            trace->is_done[same] = true;
        }
        trace->work[i] = trace->once[same];
    }
    if (tide_time_replay(&model, &factors, first, last, NULL, &row->last) != TIDE_OK) {
        abort();
    }
    return row->last.total_us * 1e-3;
}
