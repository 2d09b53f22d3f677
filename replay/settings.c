/* The allocator's settings in a snapshot, read and written by one table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text/text.h"
#include "replay/replay_internal.h"
#include "replay/settings_internal.h"

typedef enum kind { BYTES, REAL, SWITCH, DIVISIONS } kind;

/* A setting by its name in snapshots. */
typedef struct known {
    const char *name;
    kind kind;
    size_t offset; /* offset of the member in tide_cache_config */
} known;

#define AT(member) offsetof(tide_cache_config, member)

static const known KNOWN[] = {
    {"memory_limit", BYTES, AT(memory_limit_bytes)},
    {"per_process_memory_fraction", REAL, AT(per_process_memory_fraction)},
    {"min_block_size", BYTES, AT(min_block_bytes)},
    {"small_size", BYTES, AT(small_bytes)},
    {"small_buffer", BYTES, AT(small_segment_bytes)},
    {"min_large_alloc", BYTES, AT(min_large_bytes)},
    {"large_segment_size", BYTES, AT(large_segment_bytes)},
    {"round_large", BYTES, AT(round_large_bytes)},
    {"max_split_size", BYTES, AT(max_split_bytes)},
    {"max_non_split_rounding", BYTES, AT(max_non_split_rounding_bytes)},
    {"garbage_collection_threshold", REAL, AT(garbage_collection_threshold)},
    {"expandable_segments", SWITCH, AT(expandable_segments)},
    {"roundup_power2_divisions", DIVISIONS, AT(roundup_power2_divisions)},
};
enum { N_KNOWN = sizeof(KNOWN) / sizeof(KNOWN[0]), DIVISIONS_TEXT = 512 };

/* -1 and infinity mean unlimited. */
static bool read_bytes(double number, size_t *ret_bytes) {
    if (number < 0.0 || number >= 0x1p62) {
        *ret_bytes = TIDE_UNLIMITED;
        return number == -1.0 || number >= 0x1p62;
    }
    *ret_bytes = (size_t)number;
    return true;
}

/* Reads a list of divisions with the allocator's own parser of "roundup_power2_divisions:TEXT". */
static bool read_divisions(const tide_snapshot_setting *setting, tide_cache_config *config) {
    char text[DIVISIONS_TEXT + 64];
    const char *list = setting->text;
    char number[32];
    if (list == NULL) {
        snprintf(number, sizeof(number), "%.0f", setting->number);
        list = number;
    }
    if (strlen(list) > DIVISIONS_TEXT || (list[0] != '[' && strchr(list, ',') != NULL)) {
        return false;
    }
    snprintf(text, sizeof(text), "roundup_power2_divisions:%s", list);
    return tide_cache_config_parse(config, text, NULL) == TIDE_OK;
}

/* False if the value is not valid; the setting is then unchanged. */
static bool read_one(const known *what, const tide_snapshot_setting *setting,
                     tide_cache_config *config) {
    unsigned char *member = (unsigned char *)config + what->offset;
    size_t n_bytes = 0;
    bool is_on = setting->number != 0.0;
    if (what->kind == DIVISIONS) {
        return read_divisions(setting, config);
    }
    if (setting->text != NULL || isnan(setting->number) ||
        (what->kind == BYTES && !read_bytes(setting->number, &n_bytes))) {
        return false;
    }
    if (what->kind == BYTES) {
        memcpy(member, &n_bytes, sizeof(n_bytes));
    } else if (what->kind == REAL) {
        memcpy(member, &setting->number, sizeof(setting->number));
    } else {
        memcpy(member, &is_on, sizeof(is_on));
    }
    return true;
}

static const known *find_known(const char *name) {
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strcmp(KNOWN[i].name, name) == 0) {
            return &KNOWN[i];
        }
    }
    return NULL;
}

tide_status tide_replay_settings(const tide_snapshot *snapshot, tide_cache_config *ret_config,
                                 bool *ret_is_told, tide_error *error) {
    tide_cache_config config;
    size_t n_told = 0;
    tide_cache_config_init(&config);
    /* The divisions come last: they go through the allocator's own parser, which checks the whole
     * configuration and would refuse a partly filled one. */
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < snapshot->n_settings; i++) {
            const known *what = find_known(snapshot->settings[i].name);
            if (what != NULL && (what->kind == DIVISIONS) == (pass == 1)) {
                n_told += read_one(what, &snapshot->settings[i], &config) ? 1 : 0;
            }
        }
    }
    tide_status status = tide_cache_config_check(&config, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "the recorded settings");
        return TIDE_FORMAT;
    }
    *ret_config = config;
    if (ret_is_told != NULL) {
        *ret_is_told = n_told >= N_KNOWN;
    }
    return TIDE_OK;
}

bool tide_replay_config_equal(const tide_cache_config *a, const tide_cache_config *b) {
    for (size_t i = 0; i < N_KNOWN; i++) {
        static const size_t BYTES_OF[] = {
            [BYTES] = sizeof(size_t),
            [REAL] = sizeof(double),
            [SWITCH] = sizeof(bool),
            [DIVISIONS] = sizeof(((tide_cache_config *)0)->roundup_power2_divisions)};
        const unsigned char *left = (const unsigned char *)a + KNOWN[i].offset;
        const unsigned char *right = (const unsigned char *)b + KNOWN[i].offset;
        if (memcmp(left, right, BYTES_OF[KNOWN[i].kind]) != 0) {
            return false;
        }
    }
    return true;
}

static tide_status set_divisions(const tide_cache_config *config, tide_arena *arena,
                                 tide_snapshot_setting *setting) {
    const size_t *divisions = config->roundup_power2_divisions;
    char text[DIVISIONS_TEXT];
    tide_text list = tide_text_in(text, sizeof(text));
    bool all_same = true;
    for (size_t i = 0; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
        all_same = all_same && divisions[i] == divisions[0];
        tide_text_add(&list, "%c%zu:%zu", i == 0 ? '[' : ',', (size_t)1 << i, divisions[i]);
    }
    tide_text_add(&list, "]");
    *setting = (tide_snapshot_setting){.name = setting->name, .number = (double)divisions[0]};
    setting->text = all_same ? NULL : tide_arena_text(arena, text);
    return all_same || setting->text != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status set_one(const known *what, const tide_cache_config *config, tide_arena *arena,
                           tide_snapshot_setting *setting) {
    const unsigned char *member = (const unsigned char *)config + what->offset;
    size_t n_bytes = 0;
    setting->name = what->name;
    setting->text = NULL;
    switch (what->kind) {
    case BYTES:
        memcpy(&n_bytes, member, sizeof(n_bytes));
        setting->number = n_bytes == TIDE_UNLIMITED ? -1.0 : (double)n_bytes;
        return TIDE_OK;
    case REAL:
        memcpy(&setting->number, member, sizeof(setting->number));
        return TIDE_OK;
    case SWITCH:
        setting->number = config->expandable_segments ? 1.0 : 0.0;
        return TIDE_OK;
    case DIVISIONS:
        return set_divisions(config, arena, setting);
    }
    return TIDE_OK;
}

tide_status tide_replay_set_settings(const tide_cache_config *config, tide_snapshot *snapshot) {
    tide_snapshot_setting *settings =
        tide_arena_alloc(&snapshot->arena, N_KNOWN, sizeof(*settings));
    if (settings == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < N_KNOWN; i++) {
        TIDE_TRY(set_one(&KNOWN[i], config, &snapshot->arena, &settings[i]));
    }
    snapshot->settings = settings;
    snapshot->n_settings = N_KNOWN;
    return TIDE_OK;
}
