#include <math.h>
#include <string.h>

#include "snapshot/format/reader_internal.h"
#include "snapshot/explain/recorder_cost.h"

enum { MAX_DEVICES = 256, MAX_PHASES = 64, MAX_SETTINGS = 1024, MAX_SAMPLES = 1000000 };

static const tide_json_odd UNKNOWN = {.unknown = -1};

#define N_KEYS(keys) (sizeof(keys) / sizeof((keys)[0]))

/* A number that is unknown is -1; other negative ones are refused. */
static int64_t get_number(tide_reader *reader) {
    return tide_json_get_integer(&reader->json, -1, INT64_MAX);
}

static const char *get_text(tide_reader *reader) {
    return tide_json_get_text(&reader->json, &reader->snapshot->arena);
}

/* The same two for ornaments, values that are only shown. */
static int64_t get_odd_number(tide_reader *reader) {
    return tide_json_get_odd_integer(&reader->json, -1, INT64_MAX, UNKNOWN);
}

static const char *get_odd_text(tide_reader *reader) {
    return tide_json_get_odd_text(&reader->json, &reader->snapshot->arena);
}

/* A key of an object and where its value goes: exactly one of the members below `key` is set. */
typedef struct target {
    const char *key;
    const char **text;
    const char **odd_text; /* only shown, as the following ones */
    int64_t *odd_number;   /* -1: unknown */
    int64_t *odd_integer;  /* any; -1: unknown */
    bool *odd_boolean;
    double *odd_real;
    void (*read)(tide_reader *reader); /* another object */
} target;

static void read_field(tide_reader *reader, const target *to) {
    if (to->text != NULL) {
        *to->text = get_text(reader);
    } else if (to->odd_text != NULL) {
        *to->odd_text = get_odd_text(reader);
    } else if (to->odd_number != NULL) {
        *to->odd_number = get_odd_number(reader);
    } else if (to->odd_integer != NULL) {
        *to->odd_integer = tide_json_get_odd_integer(&reader->json, INT64_MIN, INT64_MAX, UNKNOWN);
    } else if (to->odd_boolean != NULL) {
        *to->odd_boolean = tide_json_get_odd_boolean(&reader->json);
    } else if (to->odd_real != NULL) {
        *to->odd_real = tide_json_get_odd_real(&reader->json);
    } else {
        to->read(reader);
    }
}

/* Reads the fields of an object that was entered; `required` has a bit for each that must come. */
static void read_fields(tide_reader *reader, const target *fields, size_t n_fields,
                        uint32_t required) {
    const char *keys[TIDE_JSON_MAX_FIELDS];
    int found = -1;
    for (size_t i = 0; i < n_fields; i++) {
        keys[i] = fields[i].key;
    }
    while ((found = tide_json_next_field(&reader->json, keys, n_fields, required)) >= 0) {
        read_field(reader, &fields[found]);
    }
}

void tide_read_tool(tide_reader *reader) {
    const target fields[] = {
        {"version", .odd_text = &reader->snapshot->tool_version},
        {"build", .odd_text = &reader->snapshot->tool_build},
    };
    if (tide_json_enter_odd_object(&reader->json)) {
        read_fields(reader, fields, N_KEYS(fields), 0);
    }
}

void tide_read_clock(tide_reader *reader) {
    static const char *const KEYS[] = {"unit_ns", "source", "device_uncertainty_ns"};
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 0)) >= 0) {
        if (field == 0) {
            (void)tide_json_get_integer(&reader->json, 1, 1);
        } else if (field == 2) {
            reader->snapshot->device_uncertainty_ns = get_number(reader);
        } else {
            reader->snapshot->clock_source = get_text(reader);
        }
    }
}

static void read_host(tide_reader *reader) {
    tide_snapshot_run *run = &reader->snapshot->run;
    const target fields[] = {
        {"name", .odd_text = &run->host_name},
        {"os", .odd_text = &run->host_os},
        {"cpu", .odd_text = &run->host_cpu},
        {"computed_by", .odd_text = &run->host_computed_by},
        {"n_cpus", .odd_number = &run->host_n_cpus},
        {"total_bytes", .odd_number = &run->host_total_bytes},
    };
    if (tide_json_enter_odd_object(&reader->json)) {
        read_fields(reader, fields, N_KEYS(fields), 0);
    }
}

static void read_model(tide_reader *reader) {
    tide_snapshot_model *model = &reader->snapshot->run.model;
    const target fields[] = {
        {"size", .odd_text = &model->size},
        {"d_model", .odd_number = &model->d_model},
        {"d_ff", .odd_number = &model->d_ff},
        {"n_layers", .odd_number = &model->n_layers},
        {"n_heads", .odd_number = &model->n_heads},
        {"vocab_size", .odd_number = &model->vocab_size},
        {"n_parameters", .odd_number = &model->n_parameters},
    };
    if (tide_json_peek(&reader->json) == TIDE_JSON_NULL) {
        tide_json_skip(&reader->json);
    } else if (tide_json_enter_odd_object(&reader->json)) {
        read_fields(reader, fields, N_KEYS(fields), 1);
    }
}

void tide_read_run(tide_reader *reader) {
    tide_snapshot_run *run = &reader->snapshot->run;
    const target fields[] = {
        {"command", .odd_text = &run->command},
        {"precision", .odd_text = &run->precision},
        {"mode", .odd_text = &run->mode},
        {"attention", .odd_text = &run->attention},
        {"recompute", .odd_text = &run->recompute},
        {"outcome", .odd_text = &run->outcome},
        {"implementation", .odd_text = &run->implementation},
        {"batch_size", .odd_integer = &run->batch_size},
        {"context_length", .odd_integer = &run->context_length},
        {"seed", .odd_integer = &run->seed},
        {"memory_limit_bytes", .odd_integer = &run->memory_limit_bytes},
        {"started_unix_us", .odd_integer = &run->started_unix_us},
        {"keep_graph", .odd_boolean = &run->keep_graph},
        {"cuda_graph", .odd_boolean = &run->cuda_graph},
        {"clip_grad_norm", .odd_real = &run->clip_grad_norm},
        {"model", .read = read_model},
        {"host", .read = read_host},
    };
    if (tide_json_enter_odd_object(&reader->json)) {
        read_fields(reader, fields, N_KEYS(fields), 0);
    }
}

static tide_snapshot_device read_device(tide_reader *reader) {
    tide_snapshot_device row = {"", "", -1, -1, -1, -1, -1, -1};
    const target fields[] = {
        {"kind", .text = &row.kind},
        {"name", .odd_text = &row.name},
        {"total_bytes", .odd_number = &row.total_bytes},
        {"compute_capability", .odd_number = &row.compute_capability},
        {"driver_version", .odd_number = &row.driver_version},
        {"runtime_version", .odd_number = &row.runtime_version},
        {"sm_clock_khz", .odd_number = &row.sm_clock_khz},
        {"memory_clock_khz", .odd_number = &row.memory_clock_khz},
    };
    enum { KIND_AND_NAME = 3 };
    tide_json_enter_object(&reader->json);
    read_fields(reader, fields, N_KEYS(fields), KIND_AND_NAME);
    return row;
}

/* Whether one more of at most `limit` rows may come; fails otherwise. */
static bool room_for(tide_reader *reader, size_t n_rows, size_t limit) {
    if (n_rows == limit) {
        tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at,
                       "more than the limit of %zu of them", limit);
    }
    return n_rows < limit;
}

void tide_read_devices(tide_reader *reader) {
    tide_snapshot_device *rows =
        tide_arena_alloc(&reader->snapshot->arena, MAX_DEVICES, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for devices");
        return;
    }
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json) && room_for(reader, n_rows, MAX_DEVICES)) {
        rows[n_rows++] = read_device(reader);
    }
    reader->snapshot->devices = rows;
    reader->snapshot->n_devices = n_rows;
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_streams(tide_reader *reader) {
    static const char *const KEYS[] = {"device", "handle"};
    tide_stream_row *rows = tide_arena_alloc(&reader->snapshot->arena, MAX_DEVICES, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for streams");
        return;
    }
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json) && room_for(reader, n_rows, MAX_DEVICES)) {
        int field = -1;
        tide_json_enter_object(&reader->json);
        while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 3)) >= 0) {
            if (field == 0) {
                rows[n_rows].device = (uint8_t)tide_json_get_integer(&reader->json, 0, UINT8_MAX);
            } else {
                rows[n_rows].handle = tide_json_get_handle(&reader->json);
            }
        }
        n_rows++;
    }
    reader->snapshot->streams = rows;
    reader->snapshot->n_streams = n_rows;
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

static void read_settings(tide_reader *reader, const tide_snapshot_setting **ret_rows,
                          size_t *ret_n) {
    tide_arena *arena = &reader->snapshot->arena;
    tide_snapshot_setting *rows = tide_arena_alloc(arena, MAX_SETTINGS, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for settings");
        return;
    }
    const char *key = NULL;
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_json_enter_object(&reader->json);
    while ((key = tide_json_next_key(&reader->json, arena)) != NULL &&
           room_for(reader, n_rows, MAX_SETTINGS)) {
        refuse_twice(reader, rows, n_rows, key);
        rows[n_rows].name = key;
        read_setting(reader, &rows[n_rows]);
        n_rows++;
    }
    *ret_rows = rows;
    *ret_n = n_rows;
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

void tide_read_allocator(tide_reader *reader) {
    read_settings(reader, &reader->snapshot->settings, &reader->snapshot->n_settings);
}

void tide_read_software(tide_reader *reader) {
    read_settings(reader, &reader->snapshot->software, &reader->snapshot->n_software);
}

void tide_read_origin(tide_reader *reader) {
    static const char *const KEYS[] = {"format", "events", "contradictions"};
    tide_snapshot_origin *origin = &reader->snapshot->origin;
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 0)) >= 0) {
        if (field == 0) {
            origin->format = get_text(reader);
        } else {
            uint64_t *number = field == 1 ? &origin->n_events : &origin->n_contradictions;
            *number = (uint64_t)tide_json_get_integer(&reader->json, 0, INT64_MAX);
        }
    }
}

void tide_read_user_path(tide_reader *reader) {
    reader->snapshot->user_path = get_text(reader);
}

void tide_read_log(tide_reader *reader) {
    static const char *const KEYS[] = {"full_policy", "dropped_events", "dropped_scopes"};
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 0)) >= 0) {
        if (field == 0) {
            reader->snapshot->full_policy = get_odd_text(reader);
        } else {
            uint64_t *number =
                field == 1 ? &reader->snapshot->n_dropped : &reader->snapshot->n_scopes_dropped;
            *number = (uint64_t)tide_json_get_integer(&reader->json, 0, INT64_MAX);
        }
    }
}

/* An array of what `get` takes, in the arena. */
static const double *read_reals(tide_reader *reader, double (*get)(tide_json *json),
                                size_t *ret_n) {
    double *samples = NULL;
    size_t n = 0;
    size_t capacity = 0;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json) && room_for(reader, n, MAX_SAMPLES)) {
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

/* A number, or one of the texts for numbers that JSON does not have. */
static double get_loss(tide_json *json) {
    static const struct {
        const char *text;
        double value;
    } TEXTS[] = {{"nan", (double)NAN}, {"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}};
    char buffer[8]; /* the longest of them, and one more */
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

void tide_read_loss(tide_reader *reader) {
    tide_snapshot_timing *timing = &reader->snapshot->timing;
    timing->losses = read_reals(reader, get_loss, &timing->n_losses);
}

void tide_read_loss_scaling(tide_reader *reader) {
    static const char *const KEYS[] = {"scale", "skipped_steps"};
    tide_snapshot_timing *timing = &reader->snapshot->timing;
    int field = -1;
    timing->scales_loss = true;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 3)) >= 0) {
        if (field == 0) {
            timing->loss_scale = tide_json_get_odd_real(&reader->json);
        } else {
            timing->n_skipped_steps = tide_json_get_integer(&reader->json, 0, INT64_MAX);
        }
    }
}

static tide_snapshot_phase read_phase(tide_reader *reader) {
    static const char *const KEYS[] = {"name", "host_ms", "device_ms"};
    tide_snapshot_phase row = {.name = ""};
    size_t n_device = 0;
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 7)) >= 0) {
        if (field == 0) {
            row.name = get_text(reader);
        } else if (field == 1) {
            row.host_ms = read_samples(reader, &row.n_samples);
        } else {
            row.device_ms = read_samples(reader, &n_device);
        }
    }
    if (n_device != row.n_samples) {
        tide_json_fail(&reader->json, TIDE_FORMAT, reader->json.at,
                       "%zu samples in host_ms, %zu in device_ms", row.n_samples, n_device);
    }
    return row;
}

static void read_phases(tide_reader *reader) {
    tide_snapshot_phase *rows =
        tide_arena_alloc(&reader->snapshot->arena, MAX_PHASES, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        tide_json_fail(&reader->json, TIDE_NO_MEMORY, reader->json.at, "no memory for phases");
        return;
    }
    reader->json.text_limit = TIDE_SHORT_TEXT_BYTES;
    tide_json_enter_array(&reader->json);
    while (tide_json_next_item(&reader->json) && room_for(reader, n_rows, MAX_PHASES)) {
        rows[n_rows++] = read_phase(reader);
    }
    reader->snapshot->timing.phases = rows;
    reader->snapshot->timing.n_phases = n_rows;
    reader->json.text_limit = TIDE_JSON_TEXT_BYTES;
}

static void read_pairs(tide_reader *reader) {
    static const char *const KEYS[] = {"recorded_ms", "unrecorded_ms"};
    tide_snapshot_timing *timing = &reader->snapshot->timing;
    size_t n_unrecorded = 0;
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 3)) >= 0) {
        if (field == 0) {
            timing->recorded_step_ms = read_samples(reader, &timing->n_recorder_pairs);
        } else {
            timing->unrecorded_step_ms = read_samples(reader, &n_unrecorded);
        }
    }
    if (n_unrecorded > TIDE_RECORDER_MAX_PAIRS) {
        tide_json_fail(&reader->json, TIDE_LIMIT, reader->json.at, "the limit is %d pairs",
                       (int)TIDE_RECORDER_MAX_PAIRS);
    } else if (n_unrecorded != timing->n_recorder_pairs) {
        tide_json_fail(&reader->json, TIDE_FORMAT, reader->json.at,
                       "%zu samples in recorded_ms, %zu in unrecorded_ms", timing->n_recorder_pairs,
                       n_unrecorded);
    }
}

void tide_read_timing(tide_reader *reader) {
    enum { WARMUP, MEASURED, PHASES, PAIRS, SYNCED, FIRST_REAL };
    static const char *const KEYS[] = {
        [WARMUP] = "warmup_steps",  [MEASURED] = "measured_steps", [PHASES] = "phases",
        [PAIRS] = "recorder_pairs", [SYNCED] = "phases_synced",    [FIRST_REAL] = "flops",
        "stated_peak_flops",        "recorder_ns_per_event",
    };
    tide_snapshot_timing *timing = &reader->snapshot->timing;
    double *reals[] = {&timing->flops, &timing->stated_peak_flops, &timing->recorder_ns_per_event};
    int field = -1;
    tide_json_enter_object(&reader->json);
    while ((field = tide_json_next_field(&reader->json, KEYS, N_KEYS(KEYS), 0)) >= 0) {
        if (field == WARMUP) {
            timing->warmup_steps = get_number(reader);
        } else if (field == MEASURED) {
            timing->measured_steps = get_number(reader);
        } else if (field == PHASES) {
            read_phases(reader);
        } else if (field == PAIRS) {
            read_pairs(reader);
        } else if (field == SYNCED) {
            timing->phases_synced = tide_json_get_odd_boolean(&reader->json);
        } else {
            *reals[field - FIRST_REAL] = tide_json_get_odd_real(&reader->json);
        }
    }
}
