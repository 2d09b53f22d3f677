/* Ranks of one job against each other. They ran at the same time, so none precedes another: their
 * differences are shown by the lines of the program, not as an effect of a setting. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/compare/compare_internal.h"
#include "snapshot/ranks/digest.h"

int64_t tide_compare_rank(const tide_compare_run *run) {
    const tide_digest_source source = {.path = run->label, .rank = -1};
    const char *from = NULL;
    return tide_digest_find_rank(run->snapshot, &source, &from);
}

/* Whether the files are of one job: the same command, and the same world size if both are known. */
static bool is_same_job(const tide_snapshot *a, const tide_snapshot *b) {
    int64_t one = a->rank.world_size, other = b->rank.world_size;
    return (one < 0 || other < 0 || one == other) && strcmp(a->run.command, b->run.command) == 0 &&
           strcmp(a->origin.format, b->origin.format) == 0;
}

bool tide_compare_is_of_ranks(const tide_compare *compare) {
    int64_t base = tide_compare_rank(&compare->runs[0]);
    for (size_t i = 1; i < compare->n_runs; i++) {
        int64_t rank = tide_compare_rank(&compare->runs[i]);
        if (base < 0 || rank < 0 || rank == base ||
            !is_same_job(compare->runs[0].snapshot, compare->runs[i].snapshot)) {
            return false;
        }
    }
    return compare->n_runs > 1;
}

static bool say_pair(tide_text *to, tide_compare *compare, size_t run) {
    const tide_compare_run *base = &compare->runs[0];
    const tide_compare_run *other = &compare->runs[run];
    char bytes[TIDE_BYTES_TEXT];
    tide_text_add(to, "%sRank %" PRId64 " ", run > 1 ? " " : "", tide_compare_rank(other));
    if (base->device == NULL || other->device == NULL) {
        tide_text_add(to, "cannot be compared: the memory of one of the two was not recorded.");
        return true;
    }
    int64_t more = other->allocated_bytes - base->allocated_bytes;
    if (more == 0) {
        tide_text_add(to, "peaks as high as");
    } else {
        tide_text_add(to, "peaks %s %s", tide_bytes_format(llabs(more), bytes),
                      more > 0 ? "above" : "below");
    }
    tide_text_add(to, " rank %" PRId64, tide_compare_rank(base));
    bool is_made = tide_compare_say_lines(to, compare, base, other);
    tide_text_add(to, ".");
    return is_made;
}

bool tide_compare_say_ranks(tide_text *to, tide_compare *compare) {
    for (size_t i = 1; i < compare->n_runs; i++) {
        if (!say_pair(to, compare, i)) {
            return false;
        }
    }
    return true;
}
