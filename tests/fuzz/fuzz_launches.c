/* fuzz_launches.c - reading any bytes as a launch log yields valid rows or an error message, and
 * every log that is read has a forecast whose figures are numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cards.h"
#include "fuzz/fuzz.h"
#include "programs/step_time/forecast.h"

static void check_rows(const tide_time_log *log) {
    for (size_t i = 0; i < log->n_rows; i++) {
        const tide_run_launch *row = &log->rows[i];
        if (row->kind == TIDE_RUN_LAUNCH_NONE || row->kind == TIDE_RUN_TEXT ||
            row->kind >= TIDE_RUN_N_LAUNCH_KINDS || row->type >= TIDE_RUN_N_TYPES ||
            strlen(tide_time_log_text(log, row)) > UINT16_MAX + (size_t)1) {
            abort();
        }
    }
}

static void check_totals(const tide_time_totals *totals) {
    if (!(totals->total_us >= 0.0) || !(totals->busy_us >= 0.0) || !(totals->host_us >= 0.0) ||
        isinf(totals->total_us)) {
        abort();
    }
}

static void check_forecast(const tide_time_forecast *of) {
    check_totals(&of->likely);
    check_totals(&of->low);
    check_totals(&of->high);
    if (of->low.total_us > of->high.total_us || !(of->guessed_share >= 0.0) ||
        of->guessed_share > 1.0 || of->uncompared_share > 1.0) {
        abort();
    }
    for (size_t i = 0; i < of->kernels.n; i++) {
        char name[160];
        tide_time_kernel_name(&of->kernels.rows[i], name, sizeof(name));
        if (!(of->kernels.rows[i].us >= 0.0)) {
            abort();
        }
    }
}

/* Of the log's card, or of a card with all rates. */
static void forecast(const tide_time_log *log) {
    const tide_card *card = tide_card_find(log->card);
    tide_time_card rates;
    tide_time_ranges ranges;
    tide_time_host host;
    tide_time_model model;
    tide_time_forecast of;
    tide_error error = {""};
    if ((card == NULL || tide_time_card_of(card, &rates, &error) != TIDE_OK) &&
        tide_time_card_of(tide_card_find("h100-80"), &rates, &error) != TIDE_OK) {
        abort();
    }
    if (tide_time_host_of(&TIDE_TIME_CONSTANTS, NULL, NULL, 0.0, &host, &error) != TIDE_OK ||
        tide_time_ranges_init(log, &ranges) != TIDE_OK ||
        tide_time_model_init(log, &TIDE_TIME_CONSTANTS, &rates, &model) != TIDE_OK) {
        abort(); /* no host memory is the only reason */
    }
    error.message[0] = '\0';
    tide_status status = tide_time_forecast_init(&model, &ranges, &host, &of, &error);
    if (status == TIDE_OK) {
        check_forecast(&of);
    } else if (error.message[0] == '\0') {
        abort();
    }
    tide_time_forecast_fini(&of);
    tide_time_model_fini(&model);
    tide_time_ranges_fini(&ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    tide_time_log log;
    tide_error error = {""};
    const int file = memfd_create("launches", 0);
    if (file < 0 || write(file, data, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_status status = tide_time_log_read(tide_hostmem_default(), path, &log, &error);
    if (status == TIDE_OK) {
        check_rows(&log);
        forecast(&log);
    } else if (error.message[0] == '\0') {
        abort();
    }
    tide_time_log_fini(&log);
    (void)close(file);
    return 0;
}
