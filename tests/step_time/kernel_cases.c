#define _DEFAULT_SOURCE /* strsep */
#include "step_time/kernel_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

static bool is(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

/* ---- the table ---- */

static const tide_time_log *log_of(kernel_cases *to, const char *path) {
    for (size_t i = 0; i < to->n_logs; i++) {
        if (is(to->paths[i], path)) {
            return &to->logs[i];
        }
    }
    tide_error error = {""};
    if (to->n_logs == MOST_KERNEL_LOGS) {
        return NULL;
    }
    tide_time_log *log = &to->logs[to->n_logs];
    if (tide_time_log_read(tide_hostmem_default(), path, log, &error) != TIDE_OK) {
        (void)fprintf(stderr, "fit: %s\n", error.message);
        return NULL;
    }
    (void)snprintf(to->paths[to->n_logs++], sizeof(to->paths[0]), "%s", path);
    return log;
}

/* Pairs of records do not overlap: pair i begins at record 2 i. */
static bool find_pair(const tide_time_log *log, size_t pair, size_t *ret_first, size_t *ret_last) {
    size_t n_records = 0;
    for (size_t i = 0; i < log->n_rows; i++) {
        if (log->rows[i].kind != TIDE_RUN_RECORD) {
            continue;
        }
        if (n_records == 2 * pair) {
            *ret_first = i + 1;
        } else if (n_records == 2 * pair + 1) {
            *ret_last = i;
            return true;
        }
        n_records++;
    }
    return false;
}

static bool is_same_work(const tide_run_launch *a, const tide_run_launch *b) {
    return a->kind == b->kind && a->family == b->family && a->bytes == b->bytes &&
           a->elements == b->elements && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->count == b->count && a->type == b->type && a->out_type == b->out_type &&
           a->flags == b->flags;
}

/* The rows of the pair. Layers repeat, so the same work of a step is not far away. */
static bool take_launches(const tide_time_log *log, size_t pair, kernel_case *to) {
    size_t first = 0;
    size_t last = 0;
    if (!find_pair(log, pair, &first, &last)) {
        return false;
    }
    to->launches = calloc(last - first + 1, sizeof(*to->launches));
    for (size_t i = first; i < last && to->launches != NULL; i++) {
        size_t j = to->is_bench ? to->n_launches : 0;
        while (j < to->n_launches && !is_same_work(to->launches[j].row, &log->rows[i])) {
            j++;
        }
        to->n_launches += j == to->n_launches;
        to->launches[j].row = &log->rows[i];
        to->launches[j].n += 1.0;
    }
    return to->launches != NULL;
}

/* A function that waits for the card shows the host's time, which is not that of its kernels. */
static bool has_wait(const kernel_case *of) {
    for (size_t i = 0; i < of->n_launches; i++) {
        uint8_t kind = of->launches[i].row->kind;
        if (kind >= TIDE_RUN_WAIT_EVENT && kind <= TIDE_RUN_WAIT_DEVICE) {
            return true;
        }
    }
    return false;
}

static unsigned fold_of(const kernel_case *of) {
    uint64_t hash = 0;
    for (const char *at = of->program; *at != '\0'; at++) {
        hash = tide_hash_u64(hash + (unsigned char)*at);
    }
    for (const char *at = of->config; *at != '\0'; at++) {
        hash = tide_hash_u64(hash + (unsigned char)*at);
    }
    return (unsigned)(hash % KERNEL_FOLDS);
}

static bool add(kernel_cases *to, char *line) {
    enum { LOG, PAIR, MEASURED, PROGRAM, CONFIG, CARD, PUBLISHED, FITTED, N_FIELDS };
    char *fields[N_FIELDS];
    size_t n = 0;
    for (char *at = line; at != NULL && n < N_FIELDS;) {
        fields[n++] = strsep(&at, "\t");
    }
    if (n < N_FIELDS || to->n == MOST_KERNEL_CASES) {
        return false;
    }
    kernel_case *made = &to->cases[to->n];
    bool is_old = is(fields[MEASURED], "old bench");
    *made = (kernel_case){.is_bench = is_old || is(fields[MEASURED], "bench"),
                          .is_old = is_old,
                          .published_us = atof(fields[PUBLISHED]),
                          .weight = atof(fields[FITTED])};
    (void)snprintf(made->program, sizeof(made->program), "%s", fields[PROGRAM]);
    (void)snprintf(made->config, sizeof(made->config), "%s", fields[CONFIG]);
    (void)snprintf(made->card_name, sizeof(made->card_name), "%s", fields[CARD]);
    const tide_time_log *log = log_of(to, fields[LOG]);
    const tide_card *card = tide_card_find(fields[CARD]);
    tide_error error = {""};
    if (log == NULL || card == NULL || tide_time_card_of(card, &made->card, &error) != TIDE_OK ||
        !take_launches(log, (size_t)atoi(fields[PAIR]), made) || made->published_us <= 0.0) {
        (void)fprintf(stderr, "fit: no launches or no card: %s pair %s %s\n", fields[LOG],
                      fields[PAIR], fields[CARD]);
        return false;
    }
    made->fold = fold_of(made);
    made->weight = made->is_bench && has_wait(made) ? 0.0 : made->weight;
    to->n++;
    return true;
}

/* Programs with many configurations do not outweigh the others. */
static void set_weights(kernel_cases *cases) {
    for (size_t i = 0; i < cases->n; i++) {
        kernel_case *one = &cases->cases[i];
        double n = 0.0;
        for (size_t j = 0; j < cases->n; j++) {
            n += is(cases->cases[j].program, one->program) &&
                 is(cases->cases[j].card_name, one->card_name);
        }
        one->weight = one->weight > 0.0 ? 1.0 / sqrt(n) : 0.0;
    }
}

bool kernel_cases_read(const char *table, kernel_cases *cases) {
    FILE *file = fopen(table, "re");
    char line[2048];
    bool is_whole = file != NULL;
    if (file == NULL) {
        perror(table);
        return false;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        is_whole = add(cases, line) && is_whole;
    }
    (void)fclose(file);
    set_weights(cases);
    return is_whole && cases->n > 0;
}

/* ---- forecasts ---- */

#define SLOW_LAUNCH_US 25.0      /* of the slowest host of the published times */
enum { FILL_BYTES = 256 << 20 }; /* what do_bench overwrites before each repetition */

/* The bytes that displace data of the fill, which must be written back: those of the first kernels,
 * until the cache is full of them. */
static double evicted_us(const kernel_case *of, const tide_time_constants *constants, double bytes,
                         double before) {
    double fresh = fmax(0.0, fmin(bytes, of->card.cache_bytes - before));
    double factor = constants->memory_factor[of->card.memory];
    return fresh / (of->card.bandwidth * 1e-6 * (factor > 0.0 ? factor : 1.0));
}

/* What the host's launches take beyond the fill that comes before them. */
static double host_us(const kernel_case *of, const tide_time_constants *constants, double launch_us,
                      size_t n_launches) {
    double fill_us = FILL_BYTES / (of->card.bandwidth * 1e-6 * constants->vectorised_share);
    return (double)n_launches * launch_us - fill_us;
}

static double launch_us_of(const kernel_case *of, const kernel_bench *bench) {
    return bench->launch_us[strncmp(of->card_name, "a100", 4) == 0      ? 0
                            : strncmp(of->card_name, "h100-80", 7) == 0 ? 1
                                                                        : 2];
}

/* Before 2025 the programs ran PyTorch 2.4, which has slower kernels of softmax, and chose rows
 * with a division for each element, where the logs' PyTorch copies 16 bytes at a time. */
static double old_us(const kernel_case *of, const tide_time_constants *constants,
                     const kernel_bench *bench, const tide_run_launch *row) {
    enum { ELEMENTS_OF_16_BYTES = 4 }; /* of fp32, the type of these programs */
    tide_time_constants old = *constants;
    tide_run_launch like = *row;
    old.row_us = bench->old_row_us;
    if (row->kind == TIDE_RUN_KERNEL && row->family == TIDE_RUN_GATHER_ROWS &&
        row->k == TIDE_RUN_NO_VARIANT) {
        like.k = TIDE_RUN_INDEXED_ROWS;
        like.elements *= ELEMENTS_OF_16_BYTES;
    }
    if (row->kind == TIDE_RUN_KERNEL && row->k == TIDE_RUN_BY_BLOCK_ONCE) {
        like.k = TIDE_RUN_BY_BLOCK;
    }
    return tide_work_time_of(&old, &of->card, &like).us;
}

/* The time of a row, which is added to the parts. */
static double row_us(const kernel_case *of, const kernel_parameters *with,
                     const tide_time_constants *constants, const kernel_launches *launches,
                     double before) {
    const tide_run_launch *row = launches->row;
    double us = of->is_old ? old_us(of, constants, &with->bench, row)
                           : tide_work_time_of(constants, &of->card, row).us;
    if (us > 0.0 && of->is_bench && row->kind == TIDE_RUN_KERNEL) {
        us += with->bench.evicted * evicted_us(of, constants, (double)row->bytes, before);
    }
    return us;
}

/* parts: NULL if they are not wanted. */
static double forecast(const kernel_case *of, const kernel_parameters *with,
                       kernel_forecast *parts) {
    tide_time_constants cold = with->constants;
    double us = of->is_bench ? with->bench.event_us : 0.0;
    double before = 0.0; /* bytes so far */
    size_t n_launches = 0;
    cold.cache_bytes = 0.0;
    for (size_t i = 0; i < of->n_launches; i++) {
        const kernel_launches *launches = &of->launches[i];
        bool is_cold = of->is_bench && before == 0.0; /* later ones read what earlier ones wrote */
        double one = row_us(of, with, is_cold ? &cold : &with->constants, launches, before);
        if (one <= 0.0) {
            continue;
        }
        before += (double)launches->row->bytes;
        n_launches++;
        us += one * launches->n;
        if (parts != NULL) {
            parts->us_of[tide_time_slot_of(launches->row, one)] += one * launches->n;
        }
    }
    if (parts != NULL) {
        parts->may_be_host =
            of->is_bench && host_us(of, &with->constants, SLOW_LAUNCH_US, n_launches) > us;
    }
    double host = host_us(of, &with->constants, launch_us_of(of, &with->bench), n_launches);
    return of->is_bench ? fmax(us, host) : us;
}

double kernel_case_us(const kernel_case *of, const kernel_parameters *with) {
    return forecast(of, with, NULL);
}

void kernel_case_forecast(const kernel_case *of, const kernel_parameters *with,
                          kernel_forecast *ret_forecast) {
    *ret_forecast = (kernel_forecast){.us = 0.0};
    ret_forecast->us = forecast(of, with, ret_forecast);
}
