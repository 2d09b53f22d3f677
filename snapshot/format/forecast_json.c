/* The forecast of time in a file. Its values are only shown: odd ones are unknown. */
#include "snapshot/format/reader_internal.h"
#include "snapshot/format/writer_friend.h"

/* The numbers by their keys. */
#define REALS(forecast)                                                                            \
    {                                                                                              \
        &(forecast)->step_ms, &(forecast)->low_ms, &(forecast)->high_ms, &(forecast)->gpu_ms,      \
            &(forecast)->host_ms, &(forecast)->utilisation, &(forecast)->guessed_share,            \
            &(forecast)->uncompared_share, &(forecast)->host_factor                                \
    }
enum { CARD, BOUND, CALIBRATED, STEPS, STEP, FIRST_REAL };
static const char *const KEYS[] = {
    [CARD] = "card",
    [BOUND] = "bound",
    [CALIBRATED] = "is_calibrated",
    [STEPS] = "n_steps",
    [STEP] = "step",
    [FIRST_REAL] = "step_ms",
    "low_ms",
    "high_ms",
    "gpu_ms",
    "host_ms",
    "utilisation",
    "guessed_share",
    "uncompared_share",
    "host_factor",
};
enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };

void tide_write_forecast(tide_json_writer *json, const tide_snapshot_forecast *forecast) {
    const double *reals[] = REALS(forecast);
    if (forecast->card[0] == '\0') {
        return;
    }
    tide_json_key(json, "forecast");
    tide_json_begin_object(json);
    tide_json_key_text(json, KEYS[CARD], forecast->card);
    tide_json_key_text(json, KEYS[BOUND], forecast->bound);
    tide_json_key(json, KEYS[CALIBRATED]);
    tide_json_boolean(json, forecast->is_calibrated);
    tide_json_key_integer(json, KEYS[STEPS], forecast->n_steps);
    tide_json_key_integer(json, KEYS[STEP], forecast->step);
    for (size_t i = FIRST_REAL; i < N_KEYS; i++) {
        tide_json_key_real(json, KEYS[i], *reals[i - FIRST_REAL]);
    }
    tide_json_end_object(json);
    tide_json_line(json);
}

void tide_read_forecast(tide_reader *reader) {
    static const tide_json_odd UNKNOWN = {.unknown = -1};
    tide_json *json = &reader->json;
    tide_snapshot_forecast *forecast = &reader->snapshot->forecast;
    double *reals[] = REALS(forecast);
    int field = -1;
    if (!tide_json_enter_odd_object(json)) {
        return;
    }
    while ((field = tide_json_next_field(json, KEYS, N_KEYS, 0)) >= 0) {
        if (field == CARD) {
            forecast->card = tide_json_get_odd_text(json, &reader->snapshot->arena);
        } else if (field == BOUND) {
            forecast->bound = tide_json_get_odd_text(json, &reader->snapshot->arena);
        } else if (field == CALIBRATED) {
            forecast->is_calibrated = tide_json_get_odd_boolean(json);
        } else if (field == STEPS || field == STEP) {
            *(field == STEPS ? &forecast->n_steps : &forecast->step) =
                tide_json_get_odd_integer(json, -1, INT64_MAX, UNKNOWN);
        } else {
            *reals[field - FIRST_REAL] = tide_json_get_odd_real(json);
        }
    }
}
