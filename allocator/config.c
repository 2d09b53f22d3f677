/* config.c - the settings: their text, their limits, and the sizes that follow from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/cache_internal.h"
#include "allocator/ranges.h"
#include "common/assert.h"

#define MIB ((size_t)1 << 20)
#define BLANKS " \t\n"
#define LARGEST_MIB ((uint64_t)1 << 30) /* the largest size in MiB: 1 PiB */

void tide_cache_config_init(tide_cache_config *config) {
    *config = (tide_cache_config){.mem = tide_hostmem_default(),
                                  .memory_limit_bytes = TIDE_UNLIMITED,
                                  .min_block_bytes = 512,
                                  .small_bytes = MIB,
                                  .small_segment_bytes = 2 * MIB,
                                  .min_large_bytes = 10 * MIB,
                                  .large_segment_bytes = 20 * MIB,
                                  .round_large_bytes = 2 * MIB,
                                  .max_split_bytes = TIDE_UNLIMITED,
                                  .max_non_split_rounding_bytes = 20 * MIB,
                                  .garbage_collection_threshold = 0.0,
                                  .per_process_memory_fraction = 1.0};
}

static unsigned floor_log2(size_t n) {
    TIDE_ASSERT(n != 0);
    return 63 - (unsigned)__builtin_clzll(n);
}

static size_t round_up(size_t n, size_t multiple) {
    TIDE_ASSERT(multiple != 0 && (multiple & (multiple - 1)) == 0);
    return (n + multiple - 1) & ~(multiple - 1);
}

/* Rounds up to the next step, where each span between two powers of two has `divisions` of them. */
static size_t round_to_division(size_t n, size_t divisions) {
    size_t power = (size_t)1 << floor_log2(n);
    size_t step = power / divisions;
    return n == power ? n : step == 0 ? power * 2 : round_up(n, step);
}

size_t tide_cache_round_bytes(const tide_cache_config *config, size_t n_bytes) {
    if (n_bytes < config->min_block_bytes) {
        return config->min_block_bytes;
    }
    unsigned log2 = floor_log2(n_bytes);
    size_t interval = log2 < 20 ? 0 : log2 - 20;
    if (interval >= TIDE_N_ROUNDUP_INTERVALS) {
        interval = TIDE_N_ROUNDUP_INTERVALS - 1;
    }
    size_t divisions = config->roundup_power2_divisions[interval];
    if (divisions > 1 && n_bytes > config->min_block_bytes * divisions) {
        return round_to_division(n_bytes, divisions);
    }
    return round_up(n_bytes, config->min_block_bytes);
}

size_t tide_cache_segment_bytes(const tide_cache_config *config, size_t block_bytes) {
    if (block_bytes <= config->small_bytes) {
        return config->small_segment_bytes;
    }
    if (block_bytes < config->min_large_bytes) {
        return config->large_segment_bytes;
    }
    return round_up(block_bytes, config->round_large_bytes);
}

static bool is_power_of_two(uint64_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

static bool is_in_range(const char *name, double value) {
    const tide_setting_range *range = tide_setting_range_of(name, TIDE_TORCH_NEWEST);
    TIDE_ASSERT(range != NULL); /* each setting that is read has one */
    return tide_setting_range_holds(range, value);
}

static const char *words_of(const char *name) {
    return tide_setting_range_of(name, TIDE_TORCH_NEWEST)->words;
}

tide_status tide_cache_config_check(const tide_cache_config *config, tide_error *error) {
    tide_cache_config fixed;
    tide_cache_config_init(&fixed);
    if (config->min_block_bytes != fixed.min_block_bytes ||
        config->small_bytes != fixed.small_bytes ||
        config->small_segment_bytes != fixed.small_segment_bytes ||
        config->min_large_bytes != fixed.min_large_bytes ||
        config->round_large_bytes != fixed.round_large_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "allocator settings: block and pool sizes are fixed; start from "
                         "tide_cache_config_init");
    }
    size_t segment_mib = config->large_segment_bytes / MIB;
    if (config->large_segment_bytes % MIB != 0 ||
        !is_in_range("large_segment_size_mb", (double)segment_mib)) {
        return tide_fail(error, TIDE_INVALID, "large_segment_size_mb: %zu bytes is not %s",
                         config->large_segment_bytes, words_of("large_segment_size_mb"));
    }
    if (config->max_split_bytes < config->large_segment_bytes) {
        return tide_fail(
            error, TIDE_INVALID,
            "max_split_size_mb: %zu is below the large segment's %zu MiB; use at least "
            "that",
            config->max_split_bytes / MIB, config->large_segment_bytes / MIB);
    }
    if (!(config->garbage_collection_threshold >= 0.0 &&
          config->garbage_collection_threshold < 1.0)) {
        return tide_fail(error, TIDE_INVALID,
                         "garbage_collection_threshold: %g is not in 0 <= x < 1 (0: off)",
                         config->garbage_collection_threshold);
    }
    if (!(config->per_process_memory_fraction > 0.0 &&
          config->per_process_memory_fraction <= 1.0)) {
        return tide_fail(error, TIDE_INVALID,
                         "per_process_memory_fraction: %g is not in 0 < x <= 1 (1: off)",
                         config->per_process_memory_fraction);
    }
    for (size_t i = 0; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
        size_t divisions = config->roundup_power2_divisions[i];
        if (divisions != 0 && !is_power_of_two(divisions)) {
            return tide_fail(error, TIDE_INVALID,
                             "roundup_power2_divisions: %zu is not a power of two (0: off)",
                             divisions);
        }
    }
    return TIDE_OK;
}

/* A plain whole number of n_text characters, at most `most`. */
static bool parse_number(const char *text, size_t n_text, uint64_t most, uint64_t *ret_number) {
    uint64_t number = 0;
    if (n_text == 0 || n_text > 18) {
        return false;
    }
    for (size_t i = 0; i < n_text; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    *ret_number = number;
    return number <= most;
}

typedef struct setting setting;

/* Reads the value of a setting; false when it makes no sense. */
typedef bool (*setting_reader)(const setting *what, const char *text, tide_cache_config *config);

struct setting {
    const char *name;
    setting_reader read;   /* NULL: a setting of PyTorch that cannot apply here */
    size_t offset;         /* of the member in tide_cache_config */
    const char *no_reason; /* the reason, if read is NULL */
    const char *accepted;  /* if read is NULL: PyTorch's default, which changes nothing */
};

static bool read_mib(const setting *what, const char *text, tide_cache_config *config) {
    uint64_t n_mib = 0;
    if (!parse_number(text, strlen(text), LARGEST_MIB, &n_mib) ||
        !is_in_range(what->name, (double)n_mib)) {
        return false;
    }
    size_t n_bytes = (size_t)n_mib * MIB;
    memcpy((unsigned char *)config + what->offset, &n_bytes, sizeof(n_bytes));
    return true;
}

static bool read_switch(const setting *what, const char *text, tide_cache_config *config) {
    bool is_on = strcmp(text, "True") == 0;
    if (!is_on && strcmp(text, "False") != 0) {
        return false;
    }
    memcpy((unsigned char *)config + what->offset, &is_on, sizeof(is_on));
    return true;
}

static bool read_fraction(const setting *what, const char *text, tide_cache_config *config) {
    char *end = NULL;
    if (strspn(text, "0123456789.") != strlen(text) || *text == '\0') {
        return false;
    }
    double value = strtod(text, &end);
    /* A garbage collection threshold of 0 means off, which PyTorch expresses by omitting the
     * setting. */
    if (*end != '\0' || (value != 0.0 && !is_in_range(what->name, value))) {
        return false;
    }
    memcpy((unsigned char *)config + what->offset, &value, sizeof(value));
    return true;
}

/* "[256:1,512:2,>:8]": keys in MiB. Intervals below the first key take its value; ">" sets all
 * intervals from the last named key on, inclusive. */
static bool read_division_list(const char *text, size_t *divisions) {
    size_t values[TIDE_N_ROUNDUP_INTERVALS] = {0};
    size_t last = 0;
    bool is_first = true;
    while (*text != ']') {
        size_t n_key = strcspn(text, ":,]");
        const char *value_text = text + n_key + 1;
        uint64_t key = 0;
        uint64_t value = 0;
        if (text[n_key] != ':') {
            return false;
        }
        size_t n_value = strcspn(value_text, ",]");
        if (!parse_number(value_text, n_value, LARGEST_MIB, &value) ||
            (value != 0 && !is_power_of_two(value))) {
            return false;
        }
        if (n_key == 1 && *text == '>') {
            for (size_t i = last; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
                values[i] = (size_t)value;
            }
        } else {
            if (!parse_number(text, n_key, 32768, &key) || !is_power_of_two(key)) {
                return false;
            }
            last = floor_log2((size_t)key);
            for (size_t i = is_first ? 0 : last; i <= last; i++) {
                values[i] = (size_t)value;
            }
        }
        is_first = false;
        text = value_text + n_value;
        if (*text == '\0' || (*text == ',' && text[1] == ']')) {
            return false;
        }
        text += *text == ',' ? 1 : 0;
    }
    memcpy(divisions, values, sizeof(values));
    return !is_first && text[1] == '\0';
}

static bool read_divisions(const setting *what, const char *text, tide_cache_config *config) {
    (void)what;
    if (*text == '[') {
        return read_division_list(text + 1, config->roundup_power2_divisions);
    }
    uint64_t value = 0;
    if (!parse_number(text, strlen(text), LARGEST_MIB, &value) ||
        (value != 0 && !is_power_of_two(value))) {
        return false;
    }
    for (size_t i = 0; i < TIDE_N_ROUNDUP_INTERVALS; i++) {
        config->roundup_power2_divisions[i] = (size_t)value;
    }
    return true;
}

#define NOT_PINNED "tidemark records device memory, not pinned host memory"
#define NOT_CAPTURED "tidemark does not capture graphs"

static const setting SETTINGS[] = {
    {"max_split_size_mb", read_mib, offsetof(tide_cache_config, max_split_bytes), NULL, NULL},
    {"max_non_split_rounding_mb", read_mib,
     offsetof(tide_cache_config, max_non_split_rounding_bytes), NULL, NULL},
    {"roundup_power2_divisions", read_divisions, 0, NULL, NULL},
    {"garbage_collection_threshold", read_fraction,
     offsetof(tide_cache_config, garbage_collection_threshold), NULL, NULL},
    {"large_segment_size_mb", read_mib, offsetof(tide_cache_config, large_segment_bytes), NULL,
     NULL},
    {"per_process_memory_fraction", read_fraction,
     offsetof(tide_cache_config, per_process_memory_fraction), NULL, NULL},
    {"expandable_segments", read_switch, offsetof(tide_cache_config, expandable_segments), NULL,
     NULL},
    {"backend", NULL, 0, "there is one backend, the one that PyTorch calls native", "native"},
    {"release_lock_on_cudamalloc", NULL, 0, "the lock is kept, so that events have one order",
     "False"},
    {"pinned_use_cuda_host_register", NULL, 0, NOT_PINNED, "False"},
    {"pinned_num_register_threads", NULL, 0, NOT_PINNED, "1"},
    {"pinned_use_background_threads", NULL, 0, NOT_PINNED, "False"},
    {"pinned_reserve_segment_size_mb", NULL, 0, NOT_PINNED, "0"},
    {"graph_capture_record_stream_reuse", NULL, 0, NOT_CAPTURED, "False"},
};
enum { N_SETTINGS = sizeof(SETTINGS) / sizeof(SETTINGS[0]) };

static tide_status unknown_setting(const char *name, size_t at, tide_error *error) {
    char names[512] = "";
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (SETTINGS[i].read != NULL) {
            size_t n_used = strlen(names);
            snprintf(names + n_used, sizeof(names) - n_used, "%s%s", n_used == 0 ? "" : ", ",
                     SETTINGS[i].name);
        }
    }
    return tide_fail(error, TIDE_INVALID,
                     "unknown allocator setting \"%s\" (at character %zu): use one of %s", name, at,
                     names);
}

/* `at`: where the setting begins in the whole text, from 1. */
static tide_status apply(tide_cache_config *config, const char *name, const char *value, size_t at,
                         tide_error *error) {
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const setting *what = &SETTINGS[i];
        if (strcmp(what->name, name) != 0) {
            continue;
        }
        if (what->read == NULL && strcmp(value, what->accepted) == 0) {
            return TIDE_OK;
        }
        if (what->read == NULL) {
            return tide_fail(error, TIDE_INVALID,
                             "allocator setting %s: \"%s\" (at character %zu) cannot apply here: "
                             "%s; leave it out, or write PyTorch's default, %s:%s",
                             name, value, at, what->no_reason, name, what->accepted);
        }
        if (!what->read(what, value, config)) {
            return tide_fail(error, TIDE_INVALID,
                             "allocator setting %s: \"%s\" (at character %zu) is not %s", name,
                             value, at, words_of(name));
        }
        return TIDE_OK;
    }
    return unknown_setting(name, at, error);
}

/* The end of a setting: the next comma outside brackets, or the end of the text. */
static size_t setting_length(const char *text) {
    size_t n = 0;
    for (int depth = 0; text[n] != '\0' && (text[n] != ',' || depth > 0); n++) {
        depth += text[n] == '[' ? 1 : text[n] == ']' ? -1 : 0;
    }
    return n;
}

/* The text without its white space, in a buffer of n_bytes; false if it does not fit. */
static bool copy_trimmed(char *copy, size_t n_bytes, const char *text, size_t n_text) {
    size_t n = 0;
    for (size_t i = 0; i < n_text; i++) {
        if (strchr(BLANKS, text[i]) == NULL) {
            if (n + 1 >= n_bytes) {
                return false;
            }
            copy[n++] = text[i];
        }
    }
    copy[n] = '\0';
    return true;
}

tide_status tide_cache_config_parse(tide_cache_config *config, const char *text,
                                    tide_error *error) {
    tide_cache_config parsed = *config;
    bool has_rounding = false;
    const char *next = text;
    while (*next != '\0') {
        char one[512];
        size_t n_text = setting_length(next);
        size_t at = (size_t)(next - text) + strspn(next, BLANKS) + 1;
        if (!copy_trimmed(one, sizeof(one), next, n_text)) {
            return tide_fail(error, TIDE_LIMIT,
                             "the allocator setting at character %zu is longer than %zu characters",
                             at, sizeof(one) - 1);
        }
        next += n_text + (next[n_text] == ',' ? 1 : 0);
        char *colon = strchr(one, ':');
        if (*one == '\0') {
            continue; /* a spare comma */
        }
        if (colon == NULL) {
            return tide_fail(
                error, TIDE_INVALID,
                "allocator setting \"%s\" (at character %zu) has no value: write name:value, ...",
                one, at);
        }
        *colon = '\0';
        TIDE_TRY(apply(&parsed, one, colon + 1, at, error));
        has_rounding = has_rounding || strcmp(one, "max_non_split_rounding_mb") == 0;
    }
    if (has_rounding && parsed.max_non_split_rounding_bytes < parsed.large_segment_bytes) {
        return tide_fail(error, TIDE_INVALID, "max_non_split_rounding_mb: %zu is not %s (%zu MiB)",
                         parsed.max_non_split_rounding_bytes / MIB,
                         words_of("max_non_split_rounding_mb"), parsed.large_segment_bytes / MIB);
    }
    TIDE_TRY(tide_cache_config_check(&parsed, error));
    *config = parsed;
    return TIDE_OK;
}

tide_status tide_cache_config_from_environment(tide_cache_config *config, tide_error *error) {
    const char *text = getenv("TIDEMARK_ALLOC_CONF");
    if (text == NULL) {
        return TIDE_OK;
    }
    tide_status status = tide_cache_config_parse(config, text, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "TIDEMARK_ALLOC_CONF");
    }
    return status;
}
