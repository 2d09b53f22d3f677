/* ranges.h - the values that PyTorch accepts for its allocator's settings, by version.
 *
 * The parser of settings, the grid of `tidemark replay`, and the advice of `tidemark explain` read
 * this one table. docs/internals/allocator.md prints its newest rows, which a test compares.
 */
#ifndef TIDE_ALLOCATOR_RANGES_H
#define TIDE_ALLOCATOR_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_TORCH_NEWEST 999999 /* a version that has all settings, with their newest ranges */

/* One setting, from one version of PyTorch on. */
typedef struct tide_setting_range {
    const char *name;
    int since;            /* that version: 1000 x major + minor */
    double least, most;   /* accepted, inclusive unless the next two change that; in MiB for names
                             that end in _mb */
    bool excludes_bounds; /* neither of the two is accepted */
    bool needs_segment;   /* at least large_segment_size_mb as well */
    const char *words;    /* the range for people: "a whole number of MiB, at least 11" */
} tide_setting_range;

/* The range in this version; NULL if that PyTorch lacks the setting. */
const tide_setting_range *tide_setting_range_of(const char *name, int torch);

/* Whether a number is within the range; `needs_segment` is not checked. */
bool tide_setting_range_holds(const tide_setting_range *range, double value);

/* Whether this version of PyTorch accepts a list of settings ("name:value,name:value") without
 * lists in brackets. */
bool tide_setting_ranges_hold(const char *settings, int torch);

/* "2.14.1+cu130" is 2014; TIDE_TORCH_NEWEST for NULL or a text that is not a version. */
int tide_setting_torch_of(const char *version);

/* All rows; the last of a name is its newest. */
const tide_setting_range *tide_setting_ranges(size_t *ret_n);

#ifdef __cplusplus
}
#endif

#endif
