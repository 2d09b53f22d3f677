/* Ranks of one job against each other. They ran at once, so that no one is before another: what
 * differs between them is told by the lines of the program, not as an effect of a setting. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "snapshot/compare_internal.h"
#include "snapshot/digest.h"
#include "snapshot/user_line.h"

enum { MAX_NAMED = 4 };

/* What blocks of one line have at the peaks of two ranks. */
typedef struct place {
    const char *line;   /* in the comparison's arena */
    int64_t more_bytes; /* of the other rank, above the base */
} place;

int64_t tide_compare_rank(const tide_compare_run *run) {
    const tide_digest_source source = {.path = run->label, .rank = -1};
    const char *from = NULL;
    return tide_digest_find_rank(run->snapshot, &source, &from);
}

/* Of one job: the world is the same as far as both know it, and so is the command. */
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

static int by_line(const void *left, const void *right) {
    return strcmp(((const place *)left)->line, ((const place *)right)->line);
}

static int by_amount(const void *left, const void *right) {
    const place *a = left;
    const place *b = right;
    int64_t x = llabs(a->more_bytes), y = llabs(b->more_bytes);
    return x != y ? (x < y ? 1 : -1) : by_line(left, right);
}

/* Adds the shares of the run's peak, which are by call stack. */
static bool add_places(tide_compare *compare, const tide_compare_run *run, int64_t sign,
                       place *places, size_t *n) {
    const tide_split *split = &run->device->peak.by_stack;
    for (size_t i = 0; i < split->n_shares; i++) {
        char text[TIDE_DIGEST_LINE_BYTES] = "";
        tide_text to = tide_text_in(text, sizeof(text));
        tide_user_line_add(run->snapshot, split->shares[i].key, &to);
        const char *line =
            tide_arena_text(&compare->arena, text[0] != '\0' ? text : "an unknown line");
        if (line == NULL) {
            return false;
        }
        places[(*n)++] = (place){line, sign * split->shares[i].bytes};
    }
    return true;
}

static void say_places(tide_text *to, place *places, size_t n) {
    size_t n_kept = 0, n_named = 0, n_differ = 0;
    qsort(places, n, sizeof(*places), by_line);
    for (size_t i = 0; i < n; i++) {
        if (n_kept > 0 && by_line(&places[n_kept - 1], &places[i]) == 0) {
            places[n_kept - 1].more_bytes += places[i].more_bytes;
        } else {
            places[n_kept++] = places[i];
        }
    }
    qsort(places, n_kept, sizeof(*places), by_amount);
    for (size_t i = 0; i < n_kept; i++) {
        char bytes[TIDE_BYTES_TEXT];
        n_differ += places[i].more_bytes != 0 ? 1 : 0;
        if (places[i].more_bytes != 0 && n_named < MAX_NAMED) {
            tide_text_add(to, "%s%s %s at %s", n_named > 0 ? ", " : ": ",
                          tide_bytes_format(llabs(places[i].more_bytes), bytes),
                          places[i].more_bytes > 0 ? "more" : "less", places[i].line);
            n_named++;
        }
    }
    if (n_differ == 0) {
        tide_text_add(to, ": every line has as many bytes");
    } else if (n_differ > n_named) {
        tide_text_add(to, ", and differences at %zu more lines", n_differ - n_named);
    }
}

static bool say_pair(tide_text *to, tide_compare *compare, size_t run) {
    const tide_hostmem *mem = compare->arena.mem;
    const tide_compare_run *base = &compare->runs[0];
    const tide_compare_run *other = &compare->runs[run];
    char bytes[TIDE_BYTES_TEXT];
    size_t n = 0;
    tide_text_add(to, "%srank %" PRId64 " ", run > 1 ? " " : "", tide_compare_rank(other));
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
    place *places = tide_hostmem_zeroed(
        mem, base->device->peak.by_stack.n_shares + other->device->peak.by_stack.n_shares + 1,
        sizeof(*places));
    bool is_made = places != NULL && add_places(compare, base, -1, places, &n) &&
                   add_places(compare, other, 1, places, &n);
    if (is_made) {
        say_places(to, places, n);
        tide_text_add(to, ".");
    }
    mem->release(mem->ctx, places);
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
