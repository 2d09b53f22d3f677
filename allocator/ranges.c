#include "allocator/ranges.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MIB 1073741824.0 /* 1 PiB, our own limit */

/* From c10/cuda/CUDAAllocatorConfig.cpp (before 2.9) and c10/core/AllocatorConfig.cpp of the
 * releases. tests/pytorch/settings tries the newest rows with the installed PyTorch. */
static const tide_setting_range RANGES[] = {
    {"max_split_size_mb", 1010, 21, MOST_MIB, false, false, "a whole number of MiB, at least 21"},
    {"max_split_size_mb", 2009, 20, MOST_MIB, false, false, "a whole number of MiB, at least 20"},
    {"max_split_size_mb", 2011, 11, MOST_MIB, false, true,
     "a whole number of MiB, at least the large segment"},
    {"max_non_split_rounding_mb", 2006, 21, MOST_MIB, false, false,
     "a whole number of MiB, at least 21"},
    {"max_non_split_rounding_mb", 2009, 20, MOST_MIB, false, false,
     "a whole number of MiB, at least 20"},
    {"max_non_split_rounding_mb", 2011, 11, MOST_MIB, false, true,
     "a whole number of MiB, at least the large segment"},
    {"roundup_power2_divisions", 1013, 1, MOST_MIB, false, false,
     "a power of two, 0, or a list such as [256:1,512:2,>:8] whose keys are powers of two in MiB"},
    {"garbage_collection_threshold", 1012, 0, 1, true, false, "a number above 0 and below 1"},
    {"large_segment_size_mb", 2011, 11, MOST_MIB, false, false,
     "a whole number of MiB, at least 11"},
    {"per_process_memory_fraction", 2010, 0, 1, false, false, "a number above 0, at most 1"},
    {"expandable_segments", 2001, 0, 1, false, false, "True or False"},
};
enum { N_RANGES = sizeof(RANGES) / sizeof(RANGES[0]), TEXT_BYTES = 256 };

const tide_setting_range *tide_setting_ranges(size_t *ret_n) {
    *ret_n = N_RANGES;
    return RANGES;
}

const tide_setting_range *tide_setting_range_of(const char *name, int torch) {
    const tide_setting_range *found = NULL;
    for (size_t i = 0; i < N_RANGES; i++) {
        if (strcmp(RANGES[i].name, name) == 0 && RANGES[i].since <= torch) {
            found = &RANGES[i];
        }
    }
    return found;
}

bool tide_setting_range_holds(const tide_setting_range *range, double value) {
    return range->excludes_bounds ? value > range->least && value < range->most
                                  : value >= range->least && value <= range->most;
}

/* "name:value" */
static bool holds(char *setting, int torch) {
    char *colon = strchr(setting, ':');
    if (colon == NULL) {
        return false;
    }
    *colon = '\0';
    const char *value = colon + 1;
    const tide_setting_range *range = tide_setting_range_of(setting, torch);
    bool is_switch = strcmp(value, "True") == 0 || strcmp(value, "False") == 0;
    return range != NULL &&
           tide_setting_range_holds(range, is_switch ? range->least : strtod(value, NULL));
}

bool tide_setting_ranges_hold(const char *settings, int torch) {
    while (*settings != '\0') {
        char one[TEXT_BYTES];
        size_t n = strcspn(settings, ",");
        if (n >= sizeof(one)) {
            return false;
        }
        memcpy(one, settings, n);
        one[n] = '\0';
        if (!holds(one, torch)) {
            return false;
        }
        settings += n + (settings[n] == ',' ? 1 : 0);
    }
    return true;
}

int tide_setting_torch_of(const char *version) {
    char *end = NULL;
    if (version == NULL || version[0] < '0' || version[0] > '9') {
        return TIDE_TORCH_NEWEST;
    }
    long major = strtol(version, &end, 10);
    if (*end != '.' || end[1] < '0' || end[1] > '9') {
        return TIDE_TORCH_NEWEST;
    }
    long minor = strtol(end + 1, NULL, 10);
    return major < 100 && minor < 1000 ? (int)(1000 * major + minor) : TIDE_TORCH_NEWEST;
}
