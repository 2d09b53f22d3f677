/* log_texts.c - the description of a run as texts of the journal. One half of this file writes them
 * and the other reads them, which keeps keys and formats together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/capture_internal.h"
#include "capture/log_contents_internal.h"

enum { KEY_BYTES = 128, NUMBER_BYTES = 40, MAX_SETTINGS = 1024 };

/* A key of the journal and the struct member it represents. */
typedef enum member_kind { MEMBER_TEXT = 0, MEMBER_INTEGER, MEMBER_REAL, MEMBER_FLAG } member_kind;

typedef struct member {
    const char *key;
    member_kind kind; /* const char *, int64_t, double, bool */
    size_t offset;    /* in the struct */
} member;

#define RUN(name) offsetof(tide_snapshot_run, name)
static const member RUN_MEMBERS[] = {
    {"run.command", MEMBER_TEXT, RUN(command)},
    {"run.model.size", MEMBER_TEXT, RUN(model.size)},
    {"run.model.d_model", MEMBER_INTEGER, RUN(model.d_model)},
    {"run.model.d_ff", MEMBER_INTEGER, RUN(model.d_ff)},
    {"run.model.n_layers", MEMBER_INTEGER, RUN(model.n_layers)},
    {"run.model.n_heads", MEMBER_INTEGER, RUN(model.n_heads)},
    {"run.model.vocab_size", MEMBER_INTEGER, RUN(model.vocab_size)},
    {"run.model.n_parameters", MEMBER_INTEGER, RUN(model.n_parameters)},
    {"run.precision", MEMBER_TEXT, RUN(precision)},
    {"run.mode", MEMBER_TEXT, RUN(mode)},
    {"run.attention", MEMBER_TEXT, RUN(attention)},
    {"run.recompute", MEMBER_TEXT, RUN(recompute)},
    {"run.implementation", MEMBER_TEXT, RUN(implementation)},
    {"run.keep_graph", MEMBER_FLAG, RUN(keep_graph)},
    {"run.cuda_graph", MEMBER_FLAG, RUN(cuda_graph)},
    {"run.batch_size", MEMBER_INTEGER, RUN(batch_size)},
    {"run.context_length", MEMBER_INTEGER, RUN(context_length)},
    {"run.seed", MEMBER_INTEGER, RUN(seed)},
    {"run.memory_limit_bytes", MEMBER_INTEGER, RUN(memory_limit_bytes)},
    {"run.clip_grad_norm", MEMBER_REAL, RUN(clip_grad_norm)},
    {"run.host.name", MEMBER_TEXT, RUN(host_name)},
    {"run.host.os", MEMBER_TEXT, RUN(host_os)},
    {"run.host.cpu", MEMBER_TEXT, RUN(host_cpu)},
    {"run.host.computed_by", MEMBER_TEXT, RUN(host_computed_by)},
    {"run.host.n_cpus", MEMBER_INTEGER, RUN(host_n_cpus)},
    {"run.host.total_bytes", MEMBER_INTEGER, RUN(host_total_bytes)},
};

#define DEVICE(name) offsetof(tide_snapshot_device, name)
static const member DEVICE_MEMBERS[] = {
    {"device.kind", MEMBER_TEXT, DEVICE(kind)},
    {"device.name", MEMBER_TEXT, DEVICE(name)},
    {"device.total_bytes", MEMBER_INTEGER, DEVICE(total_bytes)},
    {"device.compute_capability", MEMBER_INTEGER, DEVICE(compute_capability)},
    {"device.driver_version", MEMBER_INTEGER, DEVICE(driver_version)},
    {"device.runtime_version", MEMBER_INTEGER, DEVICE(runtime_version)},
    {"device.sm_clock_khz", MEMBER_INTEGER, DEVICE(sm_clock_khz)},
    {"device.memory_clock_khz", MEMBER_INTEGER, DEVICE(memory_clock_khz)},
};

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SETTING "allocator."
#define TEXT_SETTING "allocator_text."

/* ---- writing ---- */

static void write_members(tide_recorder *recorder, const member *members, size_t n_members,
                          const void *from) {
    for (size_t i = 0; i < n_members; i++) {
        const char *at = (const char *)from + members[i].offset;
        char number[NUMBER_BYTES];
        const char *text = number;
        double real = 0.0;
        int64_t integer = 0;
        bool flag = false;
        switch (members[i].kind) {
        case MEMBER_TEXT:
            memcpy(&text, at, sizeof(text));
            break;
        case MEMBER_INTEGER:
            memcpy(&integer, at, sizeof(integer));
            (void)snprintf(number, sizeof(number), "%" PRId64, integer);
            break;
        case MEMBER_REAL:
            memcpy(&real, at, sizeof(real));
            (void)snprintf(number, sizeof(number), "%.17g", real);
            break;
        case MEMBER_FLAG:
            memcpy(&flag, at, sizeof(flag));
            (void)snprintf(number, sizeof(number), "%d", flag ? 1 : 0);
            break;
        }
        if (text != NULL && text[0] != '\0') {
            tide_recorder_describe(recorder, members[i].key, text);
        }
    }
}

static void write_settings(tide_recorder *recorder, const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_settings; i++) {
        const tide_snapshot_setting *setting = &snapshot->settings[i];
        char key[KEY_BYTES];
        char number[NUMBER_BYTES];
        (void)snprintf(key, sizeof(key), "%s%.80s", setting->text != NULL ? TEXT_SETTING : SETTING,
                       setting->name);
        (void)snprintf(number, sizeof(number), "%.17g", setting->number);
        tide_recorder_describe(recorder, key, setting->text != NULL ? setting->text : number);
    }
}

tide_status tide_capture_describe(tide_recorder *recorder, tide_cache *cache,
                                  const tide_snapshot_run *run, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_status status = tide_snapshot_create(NULL, &snapshot);
    if (status == TIDE_OK) {
        status = tide_capture_settings(tide_cache_get_config(cache), snapshot);
    }
    if (status == TIDE_OK) {
        write_settings(recorder, snapshot);
        if (run != NULL) {
            write_members(recorder, RUN_MEMBERS, N_OF(RUN_MEMBERS), run);
        }
    }
    tide_snapshot_destroy(snapshot);
    return status == TIDE_OK ? TIDE_OK
                             : tide_fail(error, status, "no host memory to describe the run");
}

/* ---- reading ---- */

static tide_status read_member(const member *of, const char *value, void *to, tide_arena *arena) {
    char *at = (char *)to + of->offset;
    const char *text = NULL;
    int64_t integer = 0;
    double real = 0.0;
    bool flag = value[0] == '1';
    char *end = NULL;
    switch (of->kind) {
    case MEMBER_TEXT:
        text = tide_arena_text(arena, value);
        memcpy(at, &text, sizeof(text));
        return text != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    case MEMBER_INTEGER:
        integer = strtoll(value, &end, 10);
        if (*end == '\0') {
            memcpy(at, &integer, sizeof(integer));
        }
        return TIDE_OK;
    case MEMBER_REAL:
        real = strtod(value, &end);
        if (*end == '\0' && real > -1e300 && real < 1e300) {
            memcpy(at, &real, sizeof(real));
        }
        return TIDE_OK;
    case MEMBER_FLAG:
        memcpy(at, &flag, sizeof(flag));
        return TIDE_OK;
    }
    return TIDE_OK;
}

static tide_status read_members(const tide_log_key_value *text, const member *members,
                                size_t n_members, void *to, tide_arena *arena) {
    for (size_t i = 0; i < n_members; i++) {
        if (strcmp(members[i].key, text->key) == 0) {
            return read_member(&members[i], text->value, to, arena);
        }
    }
    return TIDE_OK;
}

/* Enters a setting in place of an earlier one of the same name. */
static tide_status read_setting(const char *name, const char *value, bool is_text,
                                tide_snapshot_setting *settings, size_t *n_settings,
                                tide_arena *arena) {
    size_t i = 0;
    while (i < *n_settings && strcmp(settings[i].name, name) != 0) {
        i++;
    }
    if (i >= MAX_SETTINGS || name[0] == '\0') {
        return TIDE_OK;
    }
    tide_snapshot_setting read = {.name = tide_arena_text(arena, name), .number = -1.0};
    if (is_text) {
        read.text = tide_arena_text(arena, value);
    } else {
        double number = strtod(value, NULL);
        read.number = number >= 0.0 && number < 1e300 ? number : -1.0;
    }
    if (read.name == NULL || (is_text && read.text == NULL)) {
        return TIDE_NO_MEMORY;
    }
    settings[i] = read;
    *n_settings += i == *n_settings ? 1 : 0;
    return TIDE_OK;
}

tide_status tide_log_texts_apply(const tide_log_tables *tables, tide_snapshot *snapshot) {
    tide_arena *arena = &snapshot->arena;
    tide_snapshot_device *device = tide_arena_alloc(arena, 1, sizeof(*device));
    tide_snapshot_setting *settings = tide_arena_alloc(arena, MAX_SETTINGS, sizeof(*settings));
    size_t n_settings = 0;
    if (device == NULL || settings == NULL) {
        return TIDE_NO_MEMORY;
    }
    *device = (tide_snapshot_device){"unknown", "", -1, -1, -1, -1, -1, -1};
    for (size_t i = 0; i < tables->n_texts; i++) {
        const tide_log_key_value *text = &tables->texts[i];
        TIDE_TRY(read_members(text, DEVICE_MEMBERS, N_OF(DEVICE_MEMBERS), device, arena));
        TIDE_TRY(read_members(text, RUN_MEMBERS, N_OF(RUN_MEMBERS), &snapshot->run, arena));
        bool is_text = strncmp(text->key, TEXT_SETTING, strlen(TEXT_SETTING)) == 0;
        if (is_text || strncmp(text->key, SETTING, strlen(SETTING)) == 0) {
            const char *name = text->key + strlen(is_text ? TEXT_SETTING : SETTING);
            TIDE_TRY(read_setting(name, text->value, is_text, settings, &n_settings, arena));
        }
    }
    snapshot->devices = device;
    snapshot->n_devices = 1;
    snapshot->settings = settings;
    snapshot->n_settings = n_settings;
    return TIDE_OK;
}
