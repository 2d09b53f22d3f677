/* The allocator's settings as PyTorch names them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text/text.h"
#include "snapshot/pytorch/internal.h"

enum { N_INTERVALS = 16, DIVISIONS_TEXT = 512, MAX_SETTINGS = 1024 };

/* A number, or a boolean as 0 or 1; false for other values. */
static bool number_of(const tide_pytorch_import *in, tide_pickle_value value, double *ret_number) {
    switch (tide_pickle_kind_of(in->pickle, value)) {
    case TIDE_PICKLE_BOOLEAN:
        *ret_number = tide_pickle_boolean(value) ? 1.0 : 0.0;
        return true;
    case TIDE_PICKLE_INTEGER:
        *ret_number = (double)tide_pickle_integer(in->pickle, value);
        return true;
    case TIDE_PICKLE_REAL:
        *ret_number = tide_pickle_real(in->pickle, value);
        return isfinite(*ret_number);
    default:
        return false;
    }
}

/* {"1": 0, "2": 4, ..., "32768": 8}: each interval by its lower bound in MiB. */
static tide_status read_divisions(tide_pytorch_import *in, tide_pickle_value value,
                                  tide_pytorch_place *at) {
    char names[N_INTERVALS][8];
    tide_pytorch_key keys[N_INTERVALS];
    tide_pickle_value values[N_INTERVALS];
    for (size_t i = 0; i < N_INTERVALS; i++) {
        int n = snprintf(names[i], sizeof(names[i]), "%u", 1U << i);
        keys[i] = (tide_pytorch_key){names[i], n > 0 ? (size_t)n : 0};
    }
    TIDE_TRY(tide_pytorch_dict(in, value, at, keys, N_INTERVALS, values));
    for (size_t i = 0; i < N_INTERVALS; i++) {
        int64_t number = 0;
        tide_pytorch_place item = {.up = at, .key = names[i]};
        if (values[i] != 0) {
            number = tide_pytorch_odd_integer(in, values[i], &item, 0, UINT32_MAX, 0);
        }
        in->roundup_divisions[i] = (uint64_t)number;
    }
    return TIDE_OK;
}

/* One number if all intervals have the same, else "[1:0,2:4,...]", the notation of our own
 * allocator. */
static tide_status set_divisions(const tide_pytorch_import *in, tide_snapshot_setting *setting) {
    char text[DIVISIONS_TEXT];
    tide_text list = tide_text_in(text, sizeof(text));
    bool all_same = true;
    for (size_t i = 0; i < N_INTERVALS; i++) {
        all_same = all_same && in->roundup_divisions[i] == in->roundup_divisions[0];
        tide_text_add(&list, "%c%u:%u", i == 0 ? '[' : ',', 1U << i,
                      (unsigned)in->roundup_divisions[i]); /* at most 16 x 17 bytes */
    }
    setting->number = (double)in->roundup_divisions[0];
    if (all_same) {
        return TIDE_OK;
    }
    tide_text_add(&list, "]");
    setting->text = tide_arena_text(&in->snapshot->arena, text);
    return setting->text != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status read_setting(tide_pytorch_import *in, tide_pickle_value value,
                                tide_pytorch_place *at, tide_snapshot_setting *setting) {
    tide_arena *arena = &in->snapshot->arena;
    uint32_t string = 0;
    if (number_of(in, value, &setting->number)) {
        if (strcmp(setting->name, "max_split_size") == 0 && setting->number > 0.0 &&
            setting->number < 0x1p60) {
            in->max_split_bytes = (uint64_t)setting->number;
        }
        return TIDE_OK;
    }
    if (strcmp(setting->name, "roundup_power2_divisions") == 0 &&
        tide_pickle_kind_of(in->pickle, value) == TIDE_PICKLE_DICT) {
        TIDE_TRY(read_divisions(in, value, at));
        return set_divisions(in, setting);
    }
    const char *text = tide_pickle_kind_name(tide_pickle_kind_of(in->pickle, value));
    if (tide_pickle_kind_of(in->pickle, value) == TIDE_PICKLE_TEXT) {
        TIDE_TRY(tide_pytorch_string(in, value, at, &string));
        text = tide_strings_text(&in->strings, string);
    } else {
        tide_pytorch_odd(in, at);
    }
    setting->text = tide_arena_text(arena, text);
    return setting->text != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The place of a setting: as in Python, the later value of a repeated key replaces the earlier one.
 */
static tide_snapshot_setting *find(tide_snapshot_setting *settings, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return &settings[i];
        }
    }
    return &settings[n];
}

tide_status tide_pytorch_read_settings(tide_pytorch_import *in, tide_pickle_value value) {
    in->max_split_bytes = UINT64_MAX;
    tide_pytorch_place at = {.key = "allocator_settings"};
    tide_pickle_value unused = 0;
    if (value == 0 || tide_pickle_kind_of(in->pickle, value) == TIDE_PICKLE_NONE) {
        return TIDE_OK; /* old files have none */
    }
    if (tide_pickle_kind_of(in->pickle, value) != TIDE_PICKLE_DICT) {
        tide_pytorch_odd(in, &at);
        return TIDE_OK;
    }
    TIDE_TRY(tide_pytorch_dict(in, value, &at, NULL, 0, &unused));
    const tide_pickle_container *dict = tide_pickle_items(in->pickle, value);
    size_t n_pairs = dict->n_items / 2;
    if (n_pairs > MAX_SETTINGS) {
        return tide_pytorch_fail(in, &at, TIDE_LIMIT, "%zu settings, the limit is %d", n_pairs,
                                 MAX_SETTINGS);
    }
    tide_snapshot_setting *settings =
        tide_arena_alloc(&in->snapshot->arena, n_pairs, sizeof(*settings));
    if (settings == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        uint32_t string = 0;
        if (tide_pickle_kind_of(in->pickle, dict->items[2 * i]) != TIDE_PICKLE_TEXT) {
            tide_pytorch_odd(in, &at);
            continue;
        }
        TIDE_TRY(tide_pytorch_string(in, dict->items[2 * i], &at, &string));
        const char *name = tide_strings_text(&in->strings, string);
        tide_snapshot_setting *setting = find(settings, n, name);
        n += setting == &settings[n];
        *setting = (tide_snapshot_setting){.name = tide_arena_text(&in->snapshot->arena, name)};
        if (setting->name == NULL) {
            return TIDE_NO_MEMORY;
        }
        tide_pytorch_place item = {.up = &at, .key = setting->name};
        TIDE_TRY(read_setting(in, dict->items[2 * i + 1], &item, setting));
    }
    in->snapshot->settings = settings;
    in->snapshot->n_settings = n;
    return TIDE_OK;
}
