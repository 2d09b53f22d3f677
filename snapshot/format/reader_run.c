/* What ran, on what, and how long it took. */
#include <math.h>
#include <string.h>

#include "snapshot/format/reader_keys_internal.h"
#include "snapshot/explain/recorder_cost.h"

enum { MAX_DEVICES = 256, MAX_PHASES = 64, MAX_SETTINGS = 1024, MAX_SAMPLES = 1000000 };

static const char *get_text(tide_reader *reader) {
    return tide_json_get_text(&reader->json, &reader->snapshot->arena);
}

void tide_read_document_tool(tide_reader *reader, void *snapshot) {
    tide_read_shown_object(reader, &tide_readable_tool, snapshot);
}

void tide_read_document_origin(tide_reader *reader, void *snapshot) {
    tide_read_object(reader, &tide_readable_origin, &((tide_snapshot *)snapshot)->origin);
}

void tide_read_document_user_path(tide_reader *reader, void *snapshot) {
    ((tide_snapshot *)snapshot)->user_path = get_text(reader);
}

void tide_read_document_clock(tide_reader *reader, void *snapshot) {
    tide_read_object(reader, &tide_readable_clock, snapshot);
}

void tide_read_clock_unit_ns(tide_reader *reader, void *snapshot) {
    (void)snapshot;
    (void)tide_json_get_integer(&reader->json, 1, 1);
}

void tide_read_document_run(tide_reader *reader, void *snapshot) {
    tide_read_shown_object(reader, &tide_readable_run, &((tide_snapshot *)snapshot)->run);
}

void tide_read_run_model(tide_reader *reader, void *run) {
    if (tide_json_peek(&reader->json) == TIDE_JSON_NULL) {
        tide_json_skip(&reader->json);
    } else {
        tide_read_shown_object(reader, &tide_readable_model, &((tide_snapshot_run *)run)->model);
    }
}

void tide_read_run_host(tide_reader *reader, void *run) {
    tide_read_shown_object(reader, &tide_readable_host, run);
}

void tide_read_document_log(tide_reader *reader, void *snapshot) {
    tide_read_object(reader, &tide_readable_log, snapshot);
}

void tide_read_document_devices(tide_reader *reader, void *object) {
    static const tide_snapshot_device EMPTY = {"", "", -1, -1, -1, -1, -1, -1};
    static const tide_row_rule RULE = {.limit = MAX_DEVICES,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_device};
    tide_snapshot *snapshot = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    snapshot->devices = tide_read_rows(reader, &RULE, &snapshot->n_devices);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_document_streams(tide_reader *reader, void *object) {
    static const tide_stream_row EMPTY = {0, 0};
    static const tide_row_rule RULE = {.limit = MAX_DEVICES,
                                       .row_bytes = sizeof(EMPTY),
                                       .empty = &EMPTY,
                                       .of = &tide_readable_stream};
    tide_snapshot *snapshot = object;
    snapshot->streams = tide_read_rows(reader, &RULE, &snapshot->n_streams);
}

static void refuse_twice(tide_reader *reader, const tide_snapshot_setting *rows, size_t n_rows,
                         const char *key) {
    for (size_t i = 0; i < n_rows; i++) {
        if (strcmp(rows[i].name, key) == 0) {
            tide_json_fail(&reader->json, TIDE_FORMAT, reader->json.at, "this key comes twice");
        }
    }
}

static void read_setting(tide_reader *reader, tide_snapshot_setting *row) {
    tide_json *json = &reader->json;
    switch (tide_json_peek(json)) {
    case TIDE_JSON_STRING:
        row->text = get_text(reader);
        break;
    case TIDE_JSON_BOOLEAN:
        row->number = tide_json_get_boolean(json) ? 1.0 : 0.0;
        break;
    case TIDE_JSON_NULL:
    case TIDE_JSON_ARRAY:
    case TIDE_JSON_OBJECT:
        tide_json_count_odd(json);
        tide_json_skip(json);
        row->text = "?";
        break;
    default:
        row->number = tide_json_get_real(json);
    }
}

static void read_settings(tide_reader *reader, size_t text_bytes,
                          const tide_snapshot_setting **ret_rows, size_t *ret_n) {
    tide_arena *arena = &reader->snapshot->arena;
    tide_snapshot_setting *rows = tide_arena_alloc(arena, MAX_SETTINGS, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for settings");
        return;
    }
    const char *key = NULL;
    reader->json.text_limit = text_bytes;
    tide_json_enter_object(&reader->json);
    while ((key = tide_json_next_key(&reader->json, arena)) != NULL &&
           tide_read_room_for(reader, n_rows, MAX_SETTINGS)) {
        refuse_twice(reader, rows, n_rows, key);
        rows[n_rows].name = key;
        read_setting(reader, &rows[n_rows]);
        n_rows++;
    }
    *ret_rows = rows;
    *ret_n = n_rows;
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_document_allocator(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    read_settings(reader, TIDE_SHORT_TEXT_BYTES, &snapshot->settings, &snapshot->n_settings);
}

void tide_read_document_software(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    read_settings(reader, TIDE_SHORT_TEXT_BYTES, &snapshot->software, &snapshot->n_software);
}

void tide_read_document_plan(tide_reader *reader, void *object) {
    tide_snapshot *snapshot = object;
    read_settings(reader, TIDE_JSON_TEXT_BYTES, &snapshot->plan, &snapshot->n_plan);
}

/* Reads an array with `get`, into the arena. */
static const double *read_reals(tide_reader *reader, double (*get)(tide_json *json),
                                size_t *ret_n) {
    double *samples = NULL;
    size_t n = 0;
    size_t capacity = 0;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json) && tide_read_room_for(reader, n, MAX_SAMPLES)) {
        double *grown = tide_hostmem_grow(reader->mem, samples, &capacity, n + 1, sizeof(*samples));
        if (grown == NULL) {
            tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory");
            break;
        }
        samples = grown;
        samples[n++] = get(&reader->json);
    }
    double *kept = tide_arena_copy(&reader->snapshot->arena, samples, n, sizeof(*kept));
    if (kept == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory");
    }
    reader->mem->release(reader->mem->ctx, samples);
    *ret_n = n;
    return kept;
}

static const double *read_samples(tide_reader *reader, size_t *ret_n) {
    return read_reals(reader, tide_json_get_odd_real, ret_n);
}

/* A number, or a text for a number that JSON does not have. */
static double get_loss(tide_json *json) {
    static const struct {
        const char *text;
        double value;
    } TEXTS[] = {{"nan", (double)NAN}, {"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}};
    char buffer[8]; /* the longest text fits */
    if (tide_json_peek(json) != TIDE_JSON_STRING) {
        return tide_json_get_real(json);
    }
    size_t at = json->at;
    const char *text = tide_json_get_short_text(json, buffer, sizeof(buffer));
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        if (strcmp(text, TEXTS[i].text) == 0) {
            return TEXTS[i].value;
        }
    }
    tide_json_fail(json, TIDE_FORMAT, at, "a number was expected, or \"nan\", \"inf\" or \"-inf\"");
    return 0.0;
}

void tide_read_document_loss(tide_reader *reader, void *snapshot) {
    tide_snapshot_timing *timing = &((tide_snapshot *)snapshot)->timing;
    timing->losses = read_reals(reader, get_loss, &timing->n_losses);
}

void tide_read_document_loss_scaling(tide_reader *reader, void *snapshot) {
    tide_snapshot_timing *timing = &((tide_snapshot *)snapshot)->timing;
    timing->scales_loss = true;
    tide_read_object(reader, &tide_readable_loss_scaling, timing);
}

void tide_read_document_forecast(tide_reader *reader, void *snapshot) {
    tide_read_shown_object(reader, &tide_readable_forecast, &((tide_snapshot *)snapshot)->forecast);
}

void tide_read_document_timing(tide_reader *reader, void *snapshot) {
    tide_read_object(reader, &tide_readable_timing, &((tide_snapshot *)snapshot)->timing);
}

void tide_read_phase_host_ms(tide_reader *reader, void *object) {
    tide_snapshot_phase *phase = object;
    phase->host_ms = read_samples(reader, &phase->n_samples);
}

void tide_read_phase_device_ms(tide_reader *reader, void *phase) {
    ((tide_snapshot_phase *)phase)->device_ms = read_samples(reader, &reader->n_paired);
}

static void read_phase(tide_reader *reader, void *row) {
    tide_snapshot_phase *phase = row;
    tide_read_object(reader, &tide_readable_phase, phase);
    if (reader->n_paired != phase->n_samples) {
        tide_json_fail(&reader->json, TIDE_FORMAT, reader->json.at,
                       "%zu samples in host_ms, %zu in device_ms", phase->n_samples,
                       reader->n_paired);
    }
}

void tide_read_timing_phases(tide_reader *reader, void *object) {
    static const tide_snapshot_phase EMPTY = {.name = ""};
    static const tide_row_rule RULE = {
        .limit = MAX_PHASES, .row_bytes = sizeof(EMPTY), .empty = &EMPTY, .read = read_phase};
    tide_snapshot_timing *timing = object;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    timing->phases = tide_read_rows(reader, &RULE, &timing->n_phases);
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_pairs_recorded_ms(tide_reader *reader, void *object) {
    tide_snapshot_timing *timing = object;
    timing->recorded_step_ms = read_samples(reader, &timing->n_recorder_pairs);
}

void tide_read_pairs_unrecorded_ms(tide_reader *reader, void *timing) {
    ((tide_snapshot_timing *)timing)->unrecorded_step_ms = read_samples(reader, &reader->n_paired);
}

void tide_read_timing_recorder_pairs(tide_reader *reader, void *object) {
    tide_snapshot_timing *timing = object;
    tide_read_object(reader, &tide_readable_pairs, timing);
    if (reader->n_paired > TIDE_RECORDER_MAX_PAIRS) {
        tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at, "the limit is %d pairs",
                       (int)TIDE_RECORDER_MAX_PAIRS);
    } else if (reader->n_paired != timing->n_recorder_pairs) {
        tide_json_fail(&reader->json, TIDE_FORMAT, reader->json.at,
                       "%zu samples in recorded_ms, %zu in unrecorded_ms", timing->n_recorder_pairs,
                       reader->n_paired);
    }
}
