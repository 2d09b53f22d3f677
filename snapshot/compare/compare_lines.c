/* The differences between the peaks of two runs, by the lines of the program that hold the bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/bytes.h"
#include "snapshot/compare/compare_internal.h"
#include "snapshot/ranks/digest.h"
#include "snapshot/explain/peak_lines.h"

enum { SAME_PER_MILLE = 10 }; /* peaks that differ by at most 1 % of the base count as equal */
enum { MAX_NAMED = 4 };

/* The difference at the two peaks of the blocks of one place. */
typedef struct place {
    const char *line; /* in the comparison's arena */
    tide_place_kind kind;
    int64_t more_bytes; /* of the other run, above the base */
} place;

typedef struct places {
    place *rows; /* owned */
    size_t n, room;
} places;

/* "at forward (gpt.py:15)", "made by NllLossBackward0", "from before the recording". */
static void say_place(tide_text *to, const place *of) {
    bool is_source = of->kind == TIDE_PLACE_LINE || of->kind == TIDE_PLACE_FRAME;
    bool is_node = of->kind == TIDE_PLACE_OPERATION || of->kind == TIDE_PLACE_NODE;
    if (of->kind == TIDE_PLACE_UNKNOWN) {
        tide_text_add(to, "without a call stack");
    } else {
        tide_text_add(to, "%s%s", is_source ? "at " : is_node ? "made by " : "", of->line);
    }
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

/* Adds the places of the facts. */
static tide_status add_lines(tide_compare *compare, const tide_facts *facts,
                             const tide_compare_run *run, int64_t sign, places *to) {
    const tide_summary_peak *peak = &run->device->peak;
    tide_peak_lines lines = {0};
    tide_status status = tide_peak_lines_init_of(&lines, facts, peak->blocks, peak->n_blocks);
    place *grown = tide_hostmem_grow(facts->mem, to->rows, &to->room, to->n + lines.n_lines + 1,
                                     sizeof(*grown));
    to->rows = grown != NULL ? grown : to->rows;
    status = grown != NULL ? status : TIDE_NO_MEMORY;
    for (size_t i = 0; i < lines.n_lines && status == TIDE_OK; i++) {
        char text[TIDE_DIGEST_LINE_BYTES] = "";
        tide_text words = tide_text_in(text, sizeof(text));
        tide_place_add(facts, &lines.lines[i].place, &words);
        const char *line = tide_arena_text(&compare->arena, text);
        status = line != NULL ? TIDE_OK : TIDE_NO_MEMORY;
        to->rows[to->n++] = (place){line, lines.lines[i].place.kind, sign * lines.lines[i].bytes};
    }
    tide_peak_lines_fini(&lines);
    return status;
}

/* Adds the run's peak by the lines that `tidemark explain` prints. */
static bool add_places(tide_compare *compare, const tide_compare_run *run, int64_t sign,
                       places *to) {
    const tide_summary *summary = compare->summaries[run - compare->runs];
    tide_lifetimes lifetimes;
    tide_facts facts;
    if (tide_lifetimes_init(&lifetimes, run->snapshot, compare->arena.mem, NULL) != TIDE_OK) {
        return false;
    }
    tide_status status = tide_facts_init_lines(&facts, run->snapshot, &lifetimes,
                                               (size_t)(run->device - summary->devices));
    if (status == TIDE_OK) {
        status = add_lines(compare, &facts, run, sign, to);
    }
    tide_facts_fini(&facts);
    tide_lifetimes_fini(&lifetimes);
    return status == TIDE_OK;
}

static void say_places(tide_text *to, place *rows, size_t n) {
    size_t n_kept = 0, n_named = 0, n_differ = 0;
    qsort(rows, n, sizeof(*rows), by_line);
    for (size_t i = 0; i < n; i++) {
        if (n_kept > 0 && by_line(&rows[n_kept - 1], &rows[i]) == 0) {
            rows[n_kept - 1].more_bytes += rows[i].more_bytes;
        } else {
            rows[n_kept++] = rows[i];
        }
    }
    qsort(rows, n_kept, sizeof(*rows), by_amount);
    for (size_t i = 0; i < n_kept; i++) {
        char bytes[TIDE_BYTES_TEXT];
        n_differ += rows[i].more_bytes != 0 ? 1 : 0;
        if (rows[i].more_bytes != 0 && n_named < MAX_NAMED) {
            tide_text_add(to, "%s%s %s ", n_named > 0 ? ", " : ": ",
                          tide_bytes_format(llabs(rows[i].more_bytes), bytes),
                          rows[i].more_bytes > 0 ? "more" : "less");
            say_place(to, &rows[i]);
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
    places of = {.n = 0};
    bool is_made = add_places(compare, base, -1, &of) && add_places(compare, other, 1, &of);
    if (is_made) {
        say_places(to, of.rows, of.n);
    }
    mem->release(mem->ctx, of.rows);
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
