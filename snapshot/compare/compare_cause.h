/* compare_cause.h - explains why a run takes more memory than another one whose type has more
 * bytes: some categories grow, and the others shrink by less.
 */
#ifndef TIDE_SNAPSHOT_COMPARE_CAUSE_H
#define TIDE_SNAPSHOT_COMPARE_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether numbers of the one precision have fewer bytes than the other's, all or some of them:
 * bf16-true before bf16-mixed before fp32 and tf32, which are alike. False for names that are not
 * known. */
bool tide_precision_is_narrower(const char *precision, const char *than);

/* "optimizer state", "activations": a category that tidemark knows, as it stands in a sentence. */
const char *tide_category_words(int category);

/* Two runs' bytes by category, at the peak of each. */
typedef struct tide_cause {
    const char *const *words; /* borrowed; of the categories, as they stand in a sentence */
    const int64_t *narrow;    /* borrowed; the run of the narrower type, which takes more */
    const int64_t *wide;      /* borrowed */
    size_t n_categories;
} tide_cause;

/* "6.15 GiB more of copies of weights outweigh 5.65 GiB less of activations and temporaries": what
 * grows, the largest first, and what shrinks, in one figure; small changes count without being
 * named. "" where nothing grows. */
void tide_cause_words(const tide_cause *cause, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
