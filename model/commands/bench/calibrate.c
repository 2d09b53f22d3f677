/* tidemark bench calibrate: the time of launches on this machine, and the rates of its GPU. */
#define _POSIX_C_SOURCE 200809L
#include "model/commands/bench/calibrate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/calibration.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/options/report_options.h"
#include "device/cards.h"
#include "programs/launch/launch.h"
#include "programs/launch/left/left.h"
#include "programs/launch/torch_version.h"
#include "programs/step_time/calibration_log.h"

static tide_status find_torch(const char *python, tide_torch *ret_torch, tide_error *error) {
    TIDE_TRY(tide_torch_find(python, ret_torch, error));
    tide_status status = tide_torch_check(ret_torch, error);
    if (status == TIDE_OK || python != NULL || error == NULL) {
        return status;
    }
    const tide_error found = *error;
    return tide_fail(error, status, "%s; or name another Python: --python PYTHON", found.message);
}

/* The path of the file; checked before anything is measured. */
static tide_status find_path(const char *wanted, char ret_path[TIDE_PATH_BYTES],
                             tide_error *error) {
    if (wanted == NULL) {
        TIDE_TRY(tide_calibration_own_path(ret_path, error));
        TIDE_TRY(tide_file_make_parents(ret_path, error));
    } else if (snprintf(ret_path, TIDE_PATH_BYTES, "%s", wanted) >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "-o: the path is longer than %d bytes",
                         (int)TIDE_PATH_BYTES);
    }
    const tide_output output = {.path = ret_path, .content = TIDE_CONTENT_JSON};
    return tide_output_check(&output, error);
}

/* ---- the host, on a virtual card: as `tidemark run --time` measures it ---- */

static tide_status take_log(const tide_launch *launch, tide_calibration *to, size_t n_launches[2],
                            tide_error *error) {
    tide_left_list list = {.n_processes = 0};
    tide_time_log log = {.mem = NULL};
    tide_status status = tide_left_read(launch, &list, error);
    const char *path = NULL;
    for (size_t i = 0; i < list.n_processes && status == TIDE_OK && path == NULL; i++) {
        path = list.processes[i].launches_path;
    }
    if (status == TIDE_OK && path == NULL) {
        status = tide_fail(error, TIDE_FORMAT, "PyTorch launched nothing on the virtual card");
    }
    if (status == TIDE_OK) {
        status = tide_time_log_read(tide_hostmem_default(), path, &log, error);
    }
    if (status == TIDE_OK) {
        status = tide_calibration_take_host(&log, to, n_launches, error);
    }
    tide_time_log_fini(&log);
    tide_left_fini(&list);
    return status;
}

static tide_status measure_host(const char *python, const char *script, tide_calibration *to,
                                size_t n_launches[2], tide_error *error) {
    char texts[3][TIDE_LAUNCH_PATH_BYTES + 32];
    char *const arguments[] = {texts[0], texts[1], texts[2], NULL};
    tide_launch launch = {.cleaner = -1};
    tide_launch_config config;
    snprintf(texts[0], sizeof(texts[0]), "%s", python);
    snprintf(texts[1], sizeof(texts[1]), "%s", script);
    snprintf(texts[2], sizeof(texts[2]), "host");
    tide_launch_config_init(&config);
    config.arguments = arguments;
    config.logs_launches = true;
    tide_status status = tide_launch_run(&config, &launch, error);
    if (status == TIDE_OK && launch.exit_status != 0) {
        status = tide_fail(error, TIDE_IO, "measuring the host failed: what Python says is above");
    }
    if (status == TIDE_OK) {
        status = take_log(&launch, to, n_launches, error);
    }
    tide_launch_close(&launch);
    return status;
}

/* ---- the report ---- */

/* The card of the table with that driver name; NULL if none has all rates. */
static const tide_card *card_named(const char *title, tide_time_card *ret_card) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    for (size_t i = 0; i < n_cards; i++) {
        if (strcmp(cards[i].title, title) == 0 &&
            tide_time_card_of(&cards[i], ret_card, NULL) == TIDE_OK) {
            return &cards[i];
        }
    }
    return NULL;
}

static void add_row(tide_table *table, const char *what, double us, double share) {
    TIDE_ROW(table, tide_as_text(what), tide_as_ns(us),
             share > 0.0 ? tide_as_percent(100.0 * share) : tide_as_none());
}

static void add_gpu(tide_table *table, const tide_calibration_gpu *gpu) {
    tide_time_card card;
    bool is_known = card_named(gpu->name, &card) != NULL;
    char what[64];
    add_row(table, "host, a launch forward, with the driver", gpu->forward_us, -1.0);
    add_row(table, "host, a launch backward, with the driver", gpu->backward_us, -1.0);
    for (size_t i = 0; i < TIDE_CALIBRATION_TYPES; i++) {
        tide_run_type type = (tide_run_type)i;
        snprintf(what, sizeof(what), "product %s, %.0f rows", tide_calibration_type_name(type),
                 gpu->rows);
        if (gpu->product_us[i] > 0.0) {
            add_row(table, what, gpu->product_us[i],
                    is_known ? tide_calibration_share_of_peak(gpu, &card, type) : -1.0);
        }
    }
    add_row(table, "contiguous, fp32", gpu->contiguous.us,
            is_known ? tide_calibration_share_of_bandwidth(&gpu->contiguous, &card) : -1.0);
    add_row(table, "strided, fp32", gpu->strided.us,
            is_known ? tide_calibration_share_of_bandwidth(&gpu->strided, &card) : -1.0);
}

static tide_status report_on(const tide_calibration *of, const char *path, tide_format format,
                             tide_error *error) {
    tide_report report;
    tide_report_init(&report, "bench");
    tide_report_say(&report, "calibration", "calibration of %s with PyTorch %s and %s", of->cpu,
                    of->torch, of->has_gpu ? of->gpu.name : "no GPU");
    tide_table *table =
        tide_report_table(&report, "calibration", "times of launches, products and copies");
    TIDE_COLUMNS(table, TIDE_TEXT("what", "what"), TIDE_NUMBER("us", "time us"),
                 TIDE_NUMBER("peak_percent", "of stated rate"));
    add_row(table, "host, a launch forward, without a driver", of->forward_us, -1.0);
    add_row(table, "host, a launch backward, without a driver", of->backward_us, -1.0);
    if (of->has_gpu) {
        add_gpu(table, &of->gpu);
    }
    tide_report_say(&report, "file", "calibration: %s", path);
    return tide_report_end(&report, TIDE_OK, format, error);
}

static void set_day(char ret[TIDE_CALIBRATION_TEXT]) {
    time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day) == NULL || strftime(ret, TIDE_CALIBRATION_TEXT, "%F", &day) == 0) {
        snprintf(ret, TIDE_CALIBRATION_TEXT, "unknown day");
    }
}

tide_status tide_bench_calibrate(const char *python, const char *path, tide_format format,
                                 tide_error *error) {
    tide_torch torch;
    tide_calibration made = {.has_gpu = false};
    char target[TIDE_PATH_BYTES];
    char folder[TIDE_LAUNCH_PATH_BYTES];
    char script[TIDE_LAUNCH_PATH_BYTES + 32];
    size_t n_launches[2];
    TIDE_TRY(find_torch(python, &torch, error));
    TIDE_TRY(find_path(path, target, error));
    TIDE_TRY(tide_launch_find_python(folder, error));
    snprintf(script, sizeof(script), "%s/tidemark/calibrate.py", folder);
    TIDE_TRY(measure_host(torch.python, script, &made, n_launches, error));
    TIDE_TRY(tide_bench_calibrate_gpu(torch.python, script, n_launches, &made, error));
    set_day(made.made);
    tide_calibration_cpu(made.cpu);
    snprintf(made.torch, sizeof(made.torch), "%s", torch.version);
    TIDE_TRY(tide_calibration_write(&made, target, error));
    return report_on(&made, target, format, error);
}
