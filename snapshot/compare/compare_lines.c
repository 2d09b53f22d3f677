/* The differences between the peaks of two runs, by the lines of the program that hold the bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/compare/compare_internal.h"
#include "snapshot/ranks/digest.h"
#include "snapshot/explain/words/user_line.h"

enum { SAME_PER_MILLE = 10 }; /* peaks that differ by at most 1 % of the base count as equal */
enum { MAX_NAMED = 4 };

/* The difference at the two peaks of the blocks of one line. */
typedef struct place {
    const char *line;   /* in the comparison's arena; "": no call stack */
    int64_t more_bytes; /* of the other run, above the base */
} place;

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
        const char *line = tide_arena_text(&compare->arena, text);
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
            const char *line = places[i].line;
            tide_text_add(to, "%s%s %s %s%s", n_named > 0 ? ", " : ": ",
                          tide_bytes_format(llabs(places[i].more_bytes), bytes),
                          places[i].more_bytes > 0 ? "more" : "less", line[0] != '\0' ? "at " : "",
                          line[0] != '\0' ? line : "without a call stack");
            n_named++;
        }
    }
    if (n_differ == 0) {
        tide_text_add(to, ": every line has as many bytes");
    } else if (n_differ > n_named) {
        tide_text_add(to, ", and differences at %zu more lines", n_differ - n_named);
    }
}

bool tide_compare_say_lines(tide_text *to, tide_compare *compare, const tide_compare_run *base,
                            const tide_compare_run *other) {
    const tide_hostmem *mem = compare->arena.mem;
    size_t n = 0;
    place *places = tide_hostmem_zeroed(
        mem, base->device->peak.by_stack.n_shares + other->device->peak.by_stack.n_shares + 1,
        sizeof(*places));
    bool is_made = places != NULL && add_places(compare, base, -1, places, &n) &&
                   add_places(compare, other, 1, places, &n);
    if (is_made) {
        say_places(to, places, n);
    }
    mem->release(mem->ctx, places);
    return is_made;
}

/* In another tool's file, categories come at most from rules. */
static bool is_without_categories(const tide_compare_run *run) {
    return run->snapshot->origin.format[0] != '\0' ||
           run->category_bytes[TIDE_UNKNOWN] > run->allocated_bytes / 2;
}

bool tide_compare_is_told_by_lines(const tide_compare_run *base, const tide_compare_run *other) {
    return !base->is_oom && !other->is_oom && base->snapshot->n_stacks > 0 &&
           other->snapshot->n_stacks > 0 &&
           (is_without_categories(base) || is_without_categories(other));
}

bool tide_compare_say_pair_by_lines(tide_text *to, tide_compare *compare,
                                    const tide_compare_run *base, const tide_compare_run *other) {
    int64_t more = other->allocated_bytes - base->allocated_bytes;
    tide_text_add(to, "%s ", other->name);
    if (llabs(more) <= base->allocated_bytes / 1000 * SAME_PER_MILLE) {
        tide_text_add(to, "peaks as %s does (", base->name);
        tide_compare_say_bytes(to, other->allocated_bytes);
        tide_text_add(to, ", ");
        tide_compare_say_bytes(to, base->allocated_bytes);
        tide_text_add(to, ")");
    } else {
        tide_text_add(to, "%s the peak by %.1f %%, from ", more < 0 ? "lowers" : "raises",
                      100.0 * (double)llabs(more) / (double)base->allocated_bytes);
        tide_compare_say_bytes(to, base->allocated_bytes);
        tide_text_add(to, " to ");
        tide_compare_say_bytes(to, other->allocated_bytes);
    }
    bool is_made = tide_compare_say_lines(to, compare, base, other);
    tide_text_add(to, ".");
    return is_made;
}
