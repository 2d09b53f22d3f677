/* The parts of `tidemark summary` about steps: whether they repeat, what grows between them, and
 * what is never released. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/words/snapshot_words.h"
#include "cli/summary/view.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "snapshot/analysis/steps.h"

enum { SHOWN_FRAMES = 3 };

enum { NAME_BYTES = 96 };

static const char *step_name(const tide_summary_view *of, const tide_step *step) {
    char name[NAME_BYTES];
    tide_step_name(of->snapshot, step, name, sizeof(name));
    return tide_report_text(of->report, "%s", name);
}

/* "event 17, alloc of 512 B (x) in forward > layer 3"; "no further event". */
static const char *row_words(const tide_summary_view *of, int64_t row) {
    if (row < 0) {
        return "no further event";
    }
    const tide_event event = tide_event_at(of->snapshot, (size_t)row);
    const char *name = tide_snapshot_text(of->snapshot, event.name);
    const char *path = tide_summary_scope(of, event.scope);
    return tide_report_text(
        of->report,
        "event %" PRId64 ", %s of %" PRIu64 " bytes (block of %" PRIu64 ")%s%.128s%s%.256s", row,
        tide_action_name(event.action), event.requested_bytes, event.block_bytes,
        name[0] != '\0' ? ", " : "", name, path[0] != '\0' ? ", in " : "", path);
}

static void say_steady(const tide_summary_view *of, const tide_steps *steps) {
    size_t n_compared = 0, n_repeat = 0;
    const tide_step *odd = NULL;
    const tide_step *before_odd = NULL;
    const tide_step *before = NULL;
    for (size_t i = steps->first_measured; i < steps->n_steps; i++) {
        const tide_step *step = &steps->steps[i];
        if (step->is_warmup || step->is_open) {
            continue;
        }
        n_compared += step->is_compared;
        n_repeat += step->repeats;
        if (step->is_compared && !step->repeats && odd == NULL && before != NULL) {
            odd = step;
            before_odd = before;
        }
        before = step;
    }
    if (n_compared == 0 || before == NULL) {
        tide_report_say(of->report, "steady", "steady state: fewer than 2 measured steps");
        return;
    }
    if (odd == NULL || before_odd == NULL) {
        const char *which = "the one measured step after the first";
        if (n_compared != 1) {
            which = tide_report_text(of->report, "each of %zu measured steps after the first",
                                     n_compared);
        }
        tide_report_say(of->report, "steady",
                        "steady state: %s repeats the one before it: %" PRId64 " %s about blocks%s",
                        which, before->n_rows,
                        tide_plural((uint64_t)before->n_rows, "event", "events"),
                        tide_words_steps(of->report, steps));
        return;
    }
    tide_report_say(of->report, "steady",
                    "no steady state: %zu of %zu measured steps repeat the one before them. %s is "
                    "the first that does not: %s; in %s: %s%s",
                    n_repeat, n_compared, step_name(of, odd), row_words(of, odd->differs),
                    step_name(of, before_odd), row_words(of, odd->differs_from),
                    tide_words_steps(of->report, steps));
}

static const char *repeats_word(const tide_step *step) {
    if (step->is_open) {
        return "still open";
    }
    return !step->is_compared ? "" : step->repeats ? "yes" : "no";
}

static void step_table(const tide_summary_view *of, const tide_steps *steps) {
    const char *title = "Steps";
    size_t first = steps->n_steps > of->top ? steps->n_steps - of->top : 0;
    if (first > 0) {
        title = tide_report_text(of->report, "Steps, the last %zu of %zu", of->top, steps->n_steps);
    }
    tide_table *table = tide_report_table(of->report, "steps", title);
    TIDE_COLUMNS(table, TIDE_TEXT("step", "step"), TIDE_NUMBER("first_event", "from event"),
                 TIDE_NUMBER("last_event", "to event"), TIDE_NUMBER("block_events", "about blocks"),
                 TIDE_NUMBER("segment_events", "about segments"),
                 TIDE_NUMBER("peak_bytes", "highest"), TIDE_NUMBER("end_bytes", "at its end"),
                 TIDE_NUMBER("change_bytes", "change in bytes"),
                 TIDE_NUMBER("end_blocks", "blocks"), TIDE_TEXT("repeats", "repeats"));
    for (size_t i = first; i < steps->n_steps; i++) {
        const tide_step *step = &steps->steps[i];
        TIDE_ROW(table, tide_as_text(step_name(of, step)), tide_as_count((int64_t)step->first),
                 tide_as_count((int64_t)step->last), tide_as_count(step->n_rows),
                 tide_as_count(step->n_segment_rows), tide_as_bytes(step->peak_bytes),
                 tide_as_bytes(step->end_bytes),
                 i > 0 ? tide_as_count(step->end_bytes - steps->steps[i - 1].end_bytes)
                       : tide_as_none(),
                 tide_as_count(step->end_blocks), tide_as_text(repeats_word(step)));
    }
}

/* Trailing columns of both tables: of what grows and of what leaks. */
static void kept_words(const tide_summary_view *of, tide_table *table, const tide_kept *item) {
    TIDE_CELLS(
        table, tide_as_text(tide_snapshot_category(of->snapshot, item->category)),
        tide_as_text(tide_summary_scope(of, item->scope)),
        tide_as_text(tide_report_stack(of->report, of->snapshot, item->stack, SHOWN_FRAMES)));
}

static void kept_word_columns(tide_table *table) {
    TIDE_COLUMNS(table, TIDE_TEXT("category", "category"), TIDE_TEXT("scope", "scope"),
                 TIDE_TEXT("stack", "call stack, innermost first"));
}

static void growth_row(tide_table *table, const char *name, const tide_kept *item, double n_steps) {
    int64_t change = item->bytes - item->before_bytes;
    TIDE_ROW(table, tide_as_text(name), tide_as_bytes(item->before_bytes),
             tide_as_bytes(item->bytes), tide_as_count(change),
             tide_as_ns((double)change / n_steps),
             tide_as_count(item->blocks - item->before_blocks));
}

static void growth_table(const tide_summary_view *of, const tide_kept_list *list, const char *title,
                         double n_steps) {
    tide_table *table = tide_report_table(of->report, "growth", title);
    TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_NUMBER("before_bytes", "before"),
                 TIDE_NUMBER("bytes", "after"), TIDE_NUMBER("change_bytes", "change in bytes"),
                 TIDE_NUMBER("change_bytes_per_step", "a step"),
                 TIDE_NUMBER("change_blocks", "change in blocks"));
    kept_word_columns(table);
    tide_kept rest = {.before_bytes = 0};
    tide_kept all = {.before_bytes = 0};
    size_t n_rows = 0, n_rest = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        const tide_kept *item = &list->items[i];
        bool is_shown = item->bytes != item->before_bytes && n_rows < of->top;
        tide_kept *sums[] = {&all, is_shown ? NULL : &rest};
        for (size_t j = 0; j < 2; j++) {
            if (sums[j] != NULL) {
                sums[j]->before_bytes += item->before_bytes;
                sums[j]->bytes += item->bytes;
                sums[j]->before_blocks += item->before_blocks;
                sums[j]->blocks += item->blocks;
            }
        }
        if (is_shown) {
            growth_row(table, tide_summary_name(of, item->name), item, n_steps);
            kept_words(of, table, item);
            n_rows++;
        } else {
            n_rest++;
        }
    }
    if (n_rest > 0) {
        growth_row(table, tide_report_text(of->report, "(%zu more)", n_rest), &rest, n_steps);
    }
    growth_row(table, "all", &all, n_steps);
}

/* From the end of the first measured step to that of the last. */
static tide_status add_growth(const tide_summary_view *of, const tide_steps *steps) {
    const tide_step *last = NULL;
    size_t n_measured = 0;
    for (size_t i = steps->first_measured; i < steps->n_steps; i++) {
        if (!steps->steps[i].is_warmup && !steps->steps[i].is_open) {
            last = &steps->steps[i];
            n_measured++;
        }
    }
    if (n_measured < 2) {
        return TIDE_OK;
    }
    const tide_step *first = &steps->steps[steps->first_measured];
    const char *from = step_name(of, first);
    const char *to = step_name(of, last);
    if (first->end_bytes == last->end_bytes && first->end_blocks == last->end_blocks) {
        tide_report_say(
            of->report, "growth",
            "nothing grows: %" PRId64 " bytes in %" PRId64 " %s alive at the ends of %s and of %s",
            first->end_bytes, first->end_blocks,
            tide_plural((uint64_t)first->end_blocks, "block are", "blocks are"), from, to);
    }
    tide_kept_list list;
    TIDE_TRY(
        tide_steps_growth(steps, of->lifetimes, (int64_t)first->last, (int64_t)last->last, &list));
    bool any = false;
    for (size_t i = 0; i < list.n_items; i++) {
        any = any || list.items[i].bytes != list.items[i].before_bytes;
    }
    if (any) {
        growth_table(of, &list,
                     tide_report_text(of->report,
                                      "Alive at the end of %s and of %s, by name and call stack",
                                      from, to),
                     (double)(n_measured - 1));
    }
    tide_kept_list_fini(&list);
    return TIDE_OK;
}

/* ---- leaks ---- */

static void leak_row(tide_table *table, const char *name, const tide_kept *item) {
    bool has_steps = item->n_steps > 0;
    double per_step = has_steps ? (double)item->blocks / (double)item->n_steps : -1.0;
    TIDE_ROW(table, tide_as_text(name), tide_as_bytes(item->bytes), tide_as_count(item->blocks),
             has_steps ? tide_as_count(item->n_steps) : tide_as_none(), tide_as_ratio(per_step));
}

/* Whether a healthy run also keeps it: memory of only one step, which the next one replaces, such
 * as gradients; without steps, decided by the category. */
static bool is_usual(const tide_kept *item, bool has_steps) {
    bool is_state = item->category == TIDE_PARAMETER || item->category == TIDE_GRADIENT ||
                    item->category == TIDE_OPTIMIZER_STATE;
    return has_steps ? item->n_steps <= 1 : is_state;
}

static void add_to(tide_kept *sum, const tide_kept *item, size_t *n) {
    sum->bytes += item->bytes;
    sum->blocks += item->blocks;
    ++*n;
}

static void leak_table(const tide_summary_view *of, const tide_kept_list *list, bool has_steps) {
    tide_table *table =
        tide_report_table(of->report, "leaks", "Never released, by name and call stack");
    TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_NUMBER("bytes", "allocated"),
                 TIDE_NUMBER("blocks", "blocks"), TIDE_NUMBER("steps", "born in steps"),
                 TIDE_NUMBER("blocks_per_step", "blocks a step"),
                 TIDE_NUMBER("first_event", "first at event"));
    kept_word_columns(table);
    tide_kept rest = {.bytes = 0}, usual = {.bytes = 0};
    size_t n_shown = 0, n_rest = 0, n_usual = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        const tide_kept *item = &list->items[i];
        if (is_usual(item, has_steps)) {
            add_to(&usual, item, &n_usual);
        } else if (n_shown == of->top) {
            add_to(&rest, item, &n_rest);
        } else {
            leak_row(table, tide_summary_name(of, item->name), item);
            TIDE_CELLS(table, tide_as_count(item->first_born));
            kept_words(of, table, item);
            n_shown++;
        }
    }
    if (n_rest > 0) {
        leak_row(table, tide_report_text(of->report, "(%zu more)", n_rest), &rest);
    }
    if (n_usual > 0) {
        leak_row(table,
                 has_steps ? "(of one step, which the next one replaces)"
                           : "(parameters, gradients and optimizer state)",
                 &usual);
    }
}

static void say_leaks(const tide_summary_view *of, const tide_kept_list *list, int64_t warm) {
    int64_t bytes = 0, blocks = 0, again_bytes = 0, again_blocks = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        bytes += list->items[i].bytes;
        blocks += list->items[i].blocks;
        again_bytes += list->items[i].n_steps > 1 ? list->items[i].bytes : 0;
        again_blocks += list->items[i].n_steps > 1 ? list->items[i].blocks : 0;
    }
    const char *since = "during the recording";
    const char *of_these = "";
    if (warm >= 0) {
        since = tide_report_text(of->report, "after warm-up (event %" PRId64 ")", warm);
        of_these = tide_report_text(
            of->report, "; %s of these in blocks born in more than one step",
            again_blocks > 0 ? tide_report_bytes(of->report, again_bytes) : "none");
    }
    if (blocks == 0) {
        tide_report_say(of->report, "leaks",
                        "no leaks: nothing that was born %s is alive at the end", since);
        return;
    }
    tide_report_say(of->report, "leaks", "born %s and never released: %s in %" PRId64 " block%s%s",
                    since, tide_report_bytes(of->report, bytes), blocks,
                    tide_plural((uint64_t)blocks, "", "s"), of_these);
}

/* Leaks are known only if a step follows the warm-up. */
static bool goes_on(const tide_steps *steps, int64_t warm) {
    bool found = warm < 0;
    for (size_t i = 0; i < steps->n_steps; i++) {
        found = found || (int64_t)steps->steps[i].last > warm;
    }
    return found;
}

static tide_status add_leaks(const tide_summary_view *of, const tide_steps *steps) {
    tide_kept_list list;
    int64_t warm = tide_steps_warm(steps);
    if (!goes_on(steps, warm)) {
        tide_report_say(of->report, "leaks",
                        "leaks: not known, as no step follows the warm-up or the first one");
        return TIDE_OK;
    }
    TIDE_TRY(tide_steps_leaks(steps, of->lifetimes, warm, &list));
    say_leaks(of, &list, warm);
    if (list.n_items > 0) {
        leak_table(of, &list, steps->n_steps > 0);
    }
    tide_kept_list_fini(&list);
    return TIDE_OK;
}

tide_status tide_summary_steps(const tide_summary_view *of, bool repeats, bool leaks) {
    tide_steps steps;
    TIDE_TRY(tide_steps_init(&steps, of->snapshot, of->lifetimes, of->device_number));
    tide_status status = TIDE_OK;
    if (steps.n_steps == 0) {
        tide_report_say(of->report, "no_steps",
                        "the recording has no steps: put a scope of the kind step around each");
    } else if (repeats) {
        say_steady(of, &steps);
        step_table(of, &steps);
        status = add_growth(of, &steps);
    }
    if (status == TIDE_OK && leaks) {
        status = add_leaks(of, &steps);
    }
    tide_steps_fini(&steps);
    return status;
}
