/* compare_cause.h - explains why a run takes more memory than another run with a wider type: some
 * categories grow, and the others shrink by less.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_CAUSE_H
#define TIDE_SNAPSHOT_COMPARE_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether all or some numbers of one precision are narrower than the other's: bf16-true before
 * bf16-mixed before fp32 and tf32, which are equal. False for unknown names. */
bool tide_precision_is_narrower(const char *precision, const char *than);

/* Two runs' bytes by category, at the peak of each. */
typedef struct tide_cause {
    const char *const *words; /* borrowed; of the categories, in a sentence */
    const int64_t *narrow;    /* borrowed; the run with the narrower type, which takes more */
    const int64_t *wide;      /* borrowed */
    size_t n_categories;
} tide_cause;

/* "6.15 GiB more of copies of weights outweigh 5.65 GiB less of activations and temporaries": the
 * growing categories, largest first, against the shrinking ones, each with one sum; small changes
 * are counted but not named. "" if nothing grows. */
void tide_cause_words(const tide_cause *cause, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
