#include "programs/plan/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/hostmem.h"
#include "common/text/list.h"
#include "programs/plan/facts.h"

/* Of the activations at the peak that the blocks of a class hold: less is not worth a run. */
#define LEAST_OF_PEAK 0.05
/* A second class of blocks holds at least this part of the first. */
#define LEAST_OF_FIRST 0.5

enum { RANK_TEXT = 24, ALL_CLASSES = 64, MOST_PARTS = 8 };

bool tide_plan_may_matter(int64_t lowest_bytes, int64_t peak_bytes) {
    return (double)(peak_bytes - lowest_bytes) >= TIDE_PLAN_LEAST_SHARE * (double)peak_bytes;
}

/* ---- what is made together ---- */

/* Whether a module of the one list of paths is within one of the other. */
static bool has_within(const char *paths, const char *others) {
    for (const char *at = paths; *at != '\0';) {
        size_t n = strcspn(at, " ");
        for (const char *outer = others; *outer != '\0';) {
            size_t n_outer = strcspn(outer, " ");
            bool is_same = n >= n_outer && strncmp(at, outer, n_outer) == 0;
            if (is_same && (n == n_outer || at[n_outer] == '.')) {
                return true;
            }
            outer += n_outer + strspn(outer + n_outer, " ");
        }
        at += n + strspn(at + n, " ");
    }
    return false;
}

bool tide_plan_excludes(const tide_plan_candidate *one, const tide_plan_candidate *other) {
    if (one->change->group < 0 || one->change->group != other->change->group) {
        return false;
    }
    bool are_of_modules = one->change->n_classes > 0 && other->change->n_classes > 0 &&
                          one->detail != NULL && other->detail != NULL;
    return !are_of_modules || has_within(one->detail, other->detail) ||
           has_within(other->detail, one->detail);
}

/* ---- classes of blocks ---- */

/* A repeated class of modules. */
typedef struct block_class {
    const char *name, *paths; /* borrowed from the snapshot */
    int64_t bytes;            /* of activations at the peak */
    size_t n;                 /* instances */
} block_class;

static size_t count_words(const char *text) {
    size_t n = 0;
    for (const char *at = text + strspn(text, " "); *at != '\0'; n++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return n;
}

static bool is_in_any(const char *layer, const char *paths) {
    for (const char *at = paths; *at != '\0';) {
        size_t n = strcspn(at, " ");
        if (tide_plan_is_within(layer, at, n)) {
            return true;
        }
        at += n + strspn(at + n, " ");
    }
    return false;
}

/* All that may be of the modules. */
static int64_t activations_at(const tide_plan_timeline *timeline, size_t place, const char *paths) {
    bool is_any = !tide_plan_paths_differ(paths);
    int64_t bytes = 0;
    for (size_t i = 0; i < timeline->n_blocks; i++) {
        const tide_plan_block *block = &timeline->blocks[i];
        bool is_alive = block->born <= place && place < block->died;
        if (is_alive && block->category == TIDE_ACTIVATION &&
            (is_any || is_in_any(block->layer, paths))) {
            bytes += block->bytes;
        }
    }
    return bytes;
}

/* Of classes that hold nearly the same bytes, the one with most instances first: a smaller part is
 * recomputed at a time. */
static int by_bytes(const void *a, const void *b) {
    const block_class *one = a;
    const block_class *other = b;
    int64_t most = one->bytes > other->bytes ? one->bytes : other->bytes;
    bool is_near = llabs(one->bytes - other->bytes) * 10 < most;
    if (is_near && one->n != other->n) {
        return one->n > other->n ? -1 : 1;
    }
    return one->bytes != other->bytes ? (one->bytes > other->bytes ? -1 : 1)
                                      : strcmp(one->name, other->name);
}

/* The classes whose checkpointing is tried. */
static size_t choose_classes(const tide_plan_timeline *timeline, block_class *ret) {
    block_class all[ALL_CLASSES];
    size_t n = 0;
    size_t place = 0;
    int64_t peak = tide_plan_peak(timeline, NULL, NULL, 0, &place);
    const tide_snapshot *snapshot = timeline->snapshot;
    for (size_t i = 0; i < snapshot->n_plan && n < ALL_CLASSES; i++) {
        const char *name = tide_plan_fact_name(snapshot, i, "can");
        if (name == NULL || strncmp(name, "checkpoint:", strlen("checkpoint:")) != 0) {
            continue;
        }
        const char *paths = snapshot->plan[i].text;
        all[n] = (block_class){name + strlen("checkpoint:"), paths,
                               activations_at(timeline, place, paths), count_words(paths)};
        n += (double)all[n].bytes >= LEAST_OF_PEAK * (double)peak;
    }
    qsort(all, n, sizeof(*all), by_bytes);
    size_t n_chosen = 0;
    for (size_t i = 0; i < n && n_chosen < TIDE_PLAN_CLASSES; i++) {
        if ((double)all[i].bytes >= LEAST_OF_FIRST * (double)all[0].bytes) {
            ret[n_chosen++] = all[i];
        }
    }
    return n_chosen;
}

/* ---- candidates ---- */

/* A list of --try may name several changes that are made together. */
static bool is_named(const tide_plan_allowed *allowed, const char *name) {
    for (size_t i = 0; i < allowed->n_names; i++) {
        if (tide_list_has(allowed->names[i], name)) {
            return true;
        }
    }
    return false;
}

static tide_plan_candidate *add(tide_plan_candidates *all, const tide_plan_change *change,
                                const char *argument) {
    if (all->n == TIDE_PLAN_CANDIDATES) {
        return NULL;
    }
    tide_plan_candidate *row = &all->rows[all->n++];
    bool has_argument = argument[0] != '\0';
    *row = (tide_plan_candidate){.change = change,
                                 .risk = change->text->risk,
                                 .row = SIZE_MAX,
                                 .worth = 1.0,
                                 .lowest_bytes = all->peak_bytes};
    (void)snprintf(row->name, sizeof(row->name), "%s%s%s", change->text->name,
                   has_argument ? ":" : "", argument);
    tide_plan_title(change->text, argument, row->title, sizeof(row->title));
    return row;
}

/* Bounds of a candidate that is possible. */
static tide_status measure(tide_plan_candidate *row, const tide_plan_timeline *timeline,
                           const char *argument, const char *detail) {
    static const double WHOLE = 1.0;
    row->detail = tide_hostmem_text(timeline->mem, detail);
    if (row->detail == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_plan_shares_init(&row->shares, timeline));
    TIDE_TRY(row->change->leave(timeline, argument, detail, &row->shares));
    const tide_plan_shares *shares = &row->shares;
    row->lowest_bytes = tide_plan_peak(timeline, &shares, &WHOLE, 1, NULL);
    return TIDE_OK;
}

static void judge(tide_plan_candidate *row, const tide_plan_candidates *all,
                  const tide_plan_allowed *allowed) {
    if (allowed->n_names > 0) {
        row->state = is_named(allowed, row->name) ? TIDE_PLAN_OPEN : TIDE_PLAN_NOT_ALLOWED;
    } else if (row->change->text->allow != NULL &&
               !tide_list_has(allowed->words, row->change->text->allow)) {
        row->state = TIDE_PLAN_NOT_ALLOWED;
    } else if (!row->change->may_save_time &&
               !tide_plan_may_matter(row->lowest_bytes, all->peak_bytes)) {
        row->state = TIDE_PLAN_POINTLESS;
    }
}

static tide_status add_possible(tide_plan_candidates *all, const tide_plan_timeline *timeline,
                                const tide_plan_allowed *allowed, const char *name,
                                const char *detail) {
    char ranks[RANK_TEXT];
    const char *argument = "";
    const tide_plan_change *change = tide_plan_change_of(name, &argument);
    if (change == NULL ||
        (strcmp(change->text->name, "fully_shard") == 0 && allowed->n_ranks < 2)) {
        return TIDE_OK;
    }
    tide_plan_candidate *row = add(all, change, argument);
    if (row == NULL) {
        return TIDE_OK;
    }
    if (strcmp(change->text->name, "fully_shard") == 0) {
        (void)snprintf(ranks, sizeof(ranks), "%lld", (long long)allowed->n_ranks);
        detail = ranks;
    }
    const char *risk = tide_plan_fact(timeline->snapshot, "risk", name);
    row->risk = risk != NULL && strcmp(risk, "numbers") == 0 ? TIDE_PLAN_NUMBERS : row->risk;
    TIDE_TRY(measure(row, timeline, argument, detail));
    judge(row, all, allowed);
    return TIDE_OK;
}

/* Whether the change of a "can" fact is tried: of those made class by class, the chosen classes. */
static bool is_chosen(const char *name, const block_class *classes, size_t n,
                      const tide_plan_allowed *allowed) {
    const char *argument = "";
    const tide_plan_change *change = tide_plan_change_of(name, &argument);
    if (change == NULL || change->n_classes == 0 || is_named(allowed, name)) {
        return change != NULL;
    }
    for (size_t i = 0; i < n && i < change->n_classes; i++) {
        if (strcmp(argument, classes[i].name) == 0) {
            return true;
        }
    }
    return false;
}

/* Smaller batches by the program's own options take the place of those of a DataLoader. */
static bool is_replaced(const char *name, const tide_plan_own *own) {
    return own->batch_name[0] != '\0' && strncmp(name, "micro_batch", strlen("micro_batch")) == 0;
}

static void add_impossible(tide_plan_candidates *all, const tide_snapshot *snapshot, size_t i,
                           const tide_plan_own *own) {
    const char *argument = "";
    const char *name = tide_plan_fact_name(snapshot, i, "cannot");
    name = name != NULL && is_replaced(name, own) ? NULL : name;
    const tide_plan_change *change = name != NULL ? tide_plan_change_of(name, &argument) : NULL;
    tide_plan_candidate *row = change != NULL ? add(all, change, argument) : NULL;
    if (row != NULL) {
        row->state = TIDE_PLAN_IMPOSSIBLE;
        (void)snprintf(row->reason, sizeof(row->reason), "%s", snapshot->plan[i].text);
    }
}

/* The user's patch, and 1/2, 1/4 and 1/8 of the batch. */
static tide_status add_own(tide_plan_candidates *all, const tide_plan_timeline *timeline,
                           const tide_plan_allowed *allowed) {
    char name[TIDE_PLAN_NAME_BYTES];
    if (allowed->own->patched_command != NULL) {
        TIDE_TRY(add_possible(all, timeline, allowed, TIDE_PLAN_PATCH, ""));
    }
    for (unsigned part = 2; part <= MOST_PARTS; part *= 2) {
        if (tide_plan_own_has_part(allowed->own, part)) {
            (void)snprintf(name, sizeof(name), TIDE_PLAN_BATCH ":%u", part);
            TIDE_TRY(add_possible(all, timeline, allowed, name, ""));
        }
    }
    return TIDE_OK;
}

/* Whether a change of the command itself has what it needs. */
static bool is_given(const tide_plan_own *own, const tide_plan_change *change,
                     const char *argument) {
    if (strcmp(change->text->name, TIDE_PLAN_PATCH) == 0) {
        return own->patched_command != NULL && argument[0] == '\0';
    }
    bool is_number = argument[0] != '\0' && strspn(argument, "0123456789") == strlen(argument);
    return strcmp(change->text->name, TIDE_PLAN_BATCH) != 0 ||
           (is_number && tide_plan_own_has_part(own, strtoull(argument, NULL, 10)));
}

tide_status tide_plan_check_names(const tide_plan_allowed *allowed, tide_error *error) {
    for (size_t i = 0; i < allowed->n_names; i++) {
        const char *rest = allowed->names[i];
        for (tide_list_word word; tide_list_next(&rest, &word);) {
            char name[TIDE_PLAN_NAME_BYTES];
            const char *argument = "";
            (void)snprintf(name, sizeof(name), "%.*s", (int)word.n_bytes, word.text);
            const tide_plan_change *change = tide_plan_change_of(name, &argument);
            if (change == NULL || strpbrk(name, ";\t\n") != NULL) {
                return tide_fail(error, TIDE_INVALID,
                                 "--try %s: no such change; docs/reference/changes.md lists them",
                                 name);
            }
            if (!is_given(allowed->own, change, argument)) {
                return tide_fail(error, TIDE_INVALID,
                                 "--try %s: it needs --patch, or --vary with a batch that it "
                                 "divides",
                                 name);
            }
        }
    }
    return TIDE_OK;
}

tide_status tide_plan_candidates_init(tide_plan_candidates *candidates,
                                      const tide_plan_timeline *timeline,
                                      const tide_plan_allowed *allowed) {
    block_class classes[TIDE_PLAN_CLASSES];
    const tide_snapshot *snapshot = timeline->snapshot;
    *candidates = (tide_plan_candidates){.n = 0};
    candidates->rows =
        tide_hostmem_zeroed(timeline->mem, TIDE_PLAN_CANDIDATES, sizeof(*candidates->rows));
    if (candidates->rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    candidates->peak_bytes = tide_plan_peak(timeline, NULL, NULL, 0, NULL);
    size_t n_classes = choose_classes(timeline, classes);
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        const char *name = tide_plan_fact_name(snapshot, i, "can");
        if (name != NULL && !is_replaced(name, allowed->own) &&
            is_chosen(name, classes, n_classes, allowed)) {
            TIDE_TRY(add_possible(candidates, timeline, allowed, name, snapshot->plan[i].text));
        }
    }
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        add_impossible(candidates, snapshot, i, allowed->own);
    }
    return add_own(candidates, timeline, allowed);
}

void tide_plan_candidates_fini(tide_plan_candidates *candidates) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; i < candidates->n; i++) {
        tide_plan_shares_fini(&candidates->rows[i].shares, mem);
        mem->release(mem->ctx, candidates->rows[i].detail);
    }
    mem->release(mem->ctx, candidates->rows);
    *candidates = (tide_plan_candidates){.n = 0};
}

tide_status tide_plan_could_reach(const tide_plan_candidate *candidate,
                                  const tide_plan_timeline *timeline, int64_t *ret_bytes) {
    static const double WHOLE = 1.0;
    tide_plan_shares made;
    const char *argument = "";
    const tide_plan_change *change = tide_plan_change_of(candidate->name, &argument);
    TIDE_ASSERT(change == candidate->change && candidate->detail != NULL);
    tide_status status = tide_plan_shares_init(&made, timeline);
    if (status == TIDE_OK) {
        status = change->leave(timeline, argument, candidate->detail, &made);
    }
    if (status == TIDE_OK) {
        const tide_plan_shares *shares = &made;
        *ret_bytes = tide_plan_peak(timeline, &shares, &WHOLE, 1, NULL);
    }
    tide_plan_shares_fini(&made, timeline->mem);
    return status;
}
