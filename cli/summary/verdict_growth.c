/* Whether anything grows from step to step: which line, how much a step, since when. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/summary/verdict.h"
#include "cli/snapshot_words.h"
#include "common/map.h"
#include "common/plural.h"
#include "common/text.h"
#include "snapshot/steps.h"
#include "snapshot/user_frame.h"
#include "snapshot/user_line.h"

enum { PLACE_BYTES = 512, NAME_BYTES = 96, LEAST_STEPS = 3, SHOWN_LINES = 2 };

/* The measured steps, without those that are open. */
typedef struct measured {
    const tide_step *first, *last;
    size_t end; /* index of the step behind the last */
    int64_t n;
} measured;

/* What one line of the program keeps. */
typedef struct line {
    uint64_t key;                 /* the user's frame; TIDE_NONE: no call stack */
    uint32_t stack;               /* of one of its blocks */
    int64_t change_bytes;         /* from the end of the first measured step to that of the last */
    int64_t n_steps;              /* in which blocks were born that are kept */
    size_t first_step, last_step; /* of these */
} line;

/* The lines that keep anything at the end of a step. */
typedef struct kept_lines {
    const tide_hostmem *mem; /* borrowed */
    line *lines;             /* owned */
    size_t n_lines, capacity;
    tide_map index_of; /* key -> index */
} kept_lines;

static measured measured_of(const tide_steps *steps) {
    measured found = {NULL, NULL, 0, 0};
    for (size_t i = steps->first_measured; i < steps->n_steps; i++) {
        const tide_step *step = &steps->steps[i];
        if (!step->is_warmup && !step->is_open) {
            found.first = found.n == 0 ? step : found.first;
            found.last = step;
            found.end = i + 1;
            found.n++;
        }
    }
    return found;
}

static tide_status line_of(kept_lines *kept, const tide_snapshot *snapshot, uint32_t stack,
                           line **ret_line) {
    uint64_t key = tide_user_frame(snapshot, stack);
    uint64_t index = kept->n_lines;
    if (!tide_map_find(&kept->index_of, key, &index)) {
        line *grown = tide_hostmem_grow(kept->mem, kept->lines, &kept->capacity, kept->n_lines + 1,
                                        sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        kept->lines = grown;
        TIDE_TRY(tide_map_put(&kept->index_of, key, index));
        kept->lines[kept->n_lines++] = (line){.key = key, .stack = stack};
    }
    *ret_line = &kept->lines[index];
    return TIDE_OK;
}

/* Blocks are in the order of their births. */
static void add_block(line *to, const tide_lifetime *block, const measured *over, int64_t step) {
    bool was = tide_lifetime_is_allocated(block, (int64_t)over->first->last);
    bool is = tide_lifetime_is_allocated(block, (int64_t)over->last->last);
    to->change_bytes +=
        (is ? (int64_t)block->block_bytes : 0) - (was ? (int64_t)block->block_bytes : 0);
    if (is && step >= 0 && (to->n_steps == 0 || (size_t)step != to->last_step)) {
        to->first_step = to->n_steps == 0 ? (size_t)step : to->first_step;
        to->last_step = (size_t)step;
        to->n_steps++;
    }
}

static tide_status collect(kept_lines *kept, const tide_summary_view *of, const tide_steps *steps,
                           const measured *over) {
    for (size_t i = 0; i < of->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = &of->lifetimes->lifetimes[i];
        bool counts = tide_lifetime_is_allocated(block, (int64_t)over->first->last) ||
                      tide_lifetime_is_allocated(block, (int64_t)over->last->last);
        if (block->device == of->device_number && counts) {
            line *to = NULL;
            TIDE_TRY(line_of(kept, of->snapshot, block->stack, &to));
            add_block(to, block, over, tide_steps_at(steps, (int64_t)block->born - 1));
        }
    }
    return TIDE_OK;
}

/* It keeps more in most steps since it began, up to the last. */
static bool grows(const line *at, const measured *over) {
    int64_t n_since = (int64_t)(over->end - at->first_step);
    return at->change_bytes > 0 && at->n_steps >= LEAST_STEPS && 2 * at->n_steps > n_since &&
           at->last_step + LEAST_STEPS >= over->end;
}

static int by_change(const void *left, const void *right) {
    const line *a = left;
    const line *b = right;
    if (a->change_bytes != b->change_bytes) {
        return a->change_bytes < b->change_bytes ? 1 : -1;
    }
    return (a->key > b->key) - (a->key < b->key);
}

/* ---- sentences ---- */

static const char *name_of(const tide_summary_view *of, const tide_step *step) {
    char name[NAME_BYTES];
    tide_step_name(of->snapshot, step, name, sizeof(name));
    return tide_report_text(of->report, "%s", name);
}

/* "6.00 MiB a step at append_loss (metrics.py:17), in 60 of 60 steps" */
static void add_line(const tide_summary_view *of, const tide_steps *steps, const measured *over,
                     const line *at, tide_text *to) {
    char place[PLACE_BYTES];
    tide_text text = tide_text_in(place, sizeof(place));
    tide_user_line_add(of->snapshot, at->stack, &text);
    /* The growth is counted from the end of the first measured step on. */
    size_t begun = at->first_step > 0 ? at->first_step - 1 : 0;
    size_t from = begun > steps->first_measured ? begun : steps->first_measured;
    int64_t n_steps = (int64_t)(over->end - 1 - from);
    tide_text_add_item(
        to, " and ", "by %s a step at %s, in %" PRId64 " of %zu steps since %s",
        tide_report_bytes(of->report, at->change_bytes / (n_steps > 0 ? n_steps : 1)),
        place[0] != '\0' ? place : "blocks without a call stack", at->n_steps,
        over->end - at->first_step, name_of(of, &steps->steps[at->first_step]));
}

static void say_lines(const tide_summary_view *of, const tide_steps *steps, kept_lines *kept,
                      const measured *over) {
    char words[2 * PLACE_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    size_t n_shown = 0;
    if (kept->n_lines > 0) {
        qsort(kept->lines, kept->n_lines, sizeof(*kept->lines), by_change);
    }
    for (size_t i = 0; i < kept->n_lines && n_shown < SHOWN_LINES; i++) {
        if (grows(&kept->lines[i], over)) {
            add_line(of, steps, over, &kept->lines[i], &text);
            n_shown++;
        }
    }
    const char *source = tide_words_steps(of->report, steps);
    const char *from = name_of(of, over->first);
    const char *to = name_of(of, over->last);
    if (n_shown > 0) {
        tide_report_say(of->report, "grows", "It grows %s%s.", words, source);
    } else if (over->first->end_bytes == over->last->end_bytes) {
        tide_report_say(of->report, "grows",
                        "Nothing grows from step to step: %s are allocated at the ends of %s and "
                        "of %s%s.",
                        tide_report_bytes(of->report, over->first->end_bytes), from, to, source);
    } else {
        tide_report_say(of->report, "grows",
                        "No line of the program grows from step to step: %s are allocated at the "
                        "end of %s, %s at that of %s%s.",
                        tide_report_bytes(of->report, over->first->end_bytes), from,
                        tide_report_bytes(of->report, over->last->end_bytes), to, source);
    }
}

static tide_status say_steps(const tide_summary_view *of, const tide_steps *steps) {
    measured over = measured_of(steps);
    if (over.n < 2) {
        return TIDE_OK; /* tide_say_unknown says it */
    }
    kept_lines kept = {.mem = of->lifetimes->mem};
    tide_map_init(&kept.index_of, kept.mem);
    tide_status status = collect(&kept, of, steps, &over);
    if (status == TIDE_OK) {
        say_lines(of, steps, &kept, &over);
    }
    tide_map_fini(&kept.index_of);
    kept.mem->release(kept.mem->ctx, kept.lines);
    return status;
}

tide_status tide_say_growth(const tide_summary_view *of) {
    tide_steps steps;
    TIDE_TRY(tide_steps_init(&steps, of->snapshot, of->lifetimes, of->device_number));
    tide_status status = say_steps(of, &steps);
    tide_steps_fini(&steps);
    return status;
}
