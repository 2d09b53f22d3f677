#include "snapshot/ranks/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/text.h"
#include "snapshot/ranks/ranks_internal.h"

enum { LIST_BYTES = 512 };

/* ---- order ---- */

static int order_of(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int by_bytes(const tide_digest_bytes *a, const tide_digest_bytes *b) {
    int order = order_of(a->requested_bytes, b->requested_bytes);
    order = order != 0 ? order : order_of(a->allocated_bytes, b->allocated_bytes);
    order = order != 0 ? order : order_of(a->active_bytes, b->active_bytes);
    return order != 0 ? order : order_of(a->reserved_bytes, b->reserved_bytes);
}

static int by_steps(const tide_digest_device *a, const tide_digest_device *b) {
    int order = order_of((int64_t)a->n_steps, (int64_t)b->n_steps);
    for (size_t i = 0; i < a->n_steps && order == 0; i++) {
        const tide_digest_step *x = &a->steps[i];
        const tide_digest_step *y = &b->steps[i];
        order = order_of(x->index, y->index);
        order = order != 0 ? order : order_of(x->allocated_peak_bytes, y->allocated_peak_bytes);
        order = order != 0 ? order : order_of(x->reserved_peak_bytes, y->reserved_peak_bytes);
        order = order != 0 ? order : order_of(x->end_bytes, y->end_bytes);
    }
    return order;
}

static int by_rows(const tide_digest_device *a, const tide_digest_device *b) {
    int order = order_of((int64_t)a->n_rows, (int64_t)b->n_rows);
    order = order != 0 ? order : order_of(a->rest.bytes, b->rest.bytes);
    for (size_t i = 0; i < a->n_rows && order == 0; i++) {
        const tide_digest_row *x = &a->rows[i];
        const tide_digest_row *y = &b->rows[i];
        order = order_of(x->bytes, y->bytes);
        order = order != 0 ? order : order_of(x->n_blocks, y->n_blocks);
        order = order != 0 ? order : strcmp(x->line, y->line);
        order = order != 0 ? order : strcmp(x->category, y->category);
        order = order != 0 ? order : strcmp(x->scope, y->scope);
    }
    return order;
}

static int by_growth(const tide_digest_device *a, const tide_digest_device *b) {
    int64_t x = 0, y = 0;
    int order = (int)tide_digest_growth_bytes(a, &x) - (int)tide_digest_growth_bytes(b, &y);
    return order != 0 ? order : order_of(x, y);
}

int tide_ranks_compare(const tide_digest_device *a, const tide_digest_device *b) {
    if (a == NULL || b == NULL) {
        return (a != NULL) - (b != NULL);
    }
    int order = by_bytes(&a->max, &b->max);
    order = order != 0 ? order : by_bytes(&a->end, &b->end);
    order = order != 0 ? order : order_of(a->total_bytes, b->total_bytes);
    order = order != 0 ? order : order_of(a->oom.event >= 0, b->oom.event >= 0);
    order = order != 0 ? order : order_of(a->oom.requested_bytes, b->oom.requested_bytes);
    order = order != 0 ? order : by_growth(a, b);
    order = order != 0 ? order : order_of(a->low_bytes, b->low_bytes);
    order = order != 0 ? order : order_of(a->high_bytes, b->high_bytes);
    order = order != 0 ? order : order_of(a->reserved_low_bytes, b->reserved_low_bytes);
    order = order != 0 ? order : order_of(a->reserved_high_bytes, b->reserved_high_bytes);
    order = order != 0 ? order : by_steps(a, b);
    return order != 0 ? order : by_rows(a, b);
}

static int by_rank(const void *left, const void *right) {
    const tide_rank *a = left;
    const tide_rank *b = right;
    int64_t x = a->digest->rank.rank, y = b->digest->rank.rank;
    int order = (x < 0) - (y < 0);
    order = order != 0 ? order : order_of(x, y);
    order = order != 0 ? order : strcmp(a->digest->file, b->digest->file);
    return order != 0 ? order : tide_ranks_compare(a->device, b->device);
}

/* Texts with numbers in them: "stage 2" comes before "stage 10". */
static int by_text(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    size_t n_a = strspn(a, "0123456789"), n_b = strspn(b, "0123456789");
    return n_a != n_b && n_a > 0 && n_b > 0 ? (n_a < n_b ? -1 : 1) : strcmp(a, b);
}

/* ---- the parts ---- */

static const tide_digest_device *main_device(const tide_digest *digest) {
    const tide_digest_device *found = NULL;
    for (size_t i = 0; i < digest->n_devices; i++) {
        const tide_digest_device *device = &digest->devices[i];
        if (strcmp(device->kind, TIDE_KIND_PINNED) != 0 &&
            (found == NULL || device->max.allocated_bytes > found->max.allocated_bytes)) {
            found = device;
        }
    }
    return found;
}

static int64_t peak_of(const tide_rank *rank) {
    return rank->device != NULL ? rank->device->max.allocated_bytes : -1;
}

static tide_status refuse_twice(const tide_ranks *ranks, tide_error *error) {
    for (size_t i = 1; i < ranks->n_ranks; i++) {
        const tide_digest *a = ranks->ranks[i - 1].digest;
        const tide_digest *b = ranks->ranks[i].digest;
        if (a->rank.rank >= 0 && a->rank.rank == b->rank.rank) {
            return tide_fail(error, TIDE_INVALID,
                             "rank %" PRId64 " comes twice: as %.64s and as %.64s", a->rank.rank,
                             a->file, b->file);
        }
    }
    return TIDE_OK;
}

typedef struct named {
    const char *name;
    size_t rank; /* index */
} named;

static int by_name(const void *left, const void *right) {
    const named *a = left;
    const named *b = right;
    int order = by_text(a->name, b->name);
    return order != 0 ? order : order_of((int64_t)a->rank, (int64_t)b->rank);
}

static int by_number(const void *left, const void *right) {
    return order_of(*(const int64_t *)left, *(const int64_t *)right);
}

/* "0-62, 64": the ranks at these indices. */
static const char *list_of(const tide_ranks *ranks, const size_t *indices, size_t n) {
    char bytes[LIST_BYTES];
    tide_text to = tide_text_in(bytes, sizeof(bytes));
    for (size_t i = 0; i < n;) {
        const tide_digest *digest = ranks->ranks[indices[i]].digest;
        int64_t first = digest->rank.rank, last = first;
        size_t next = i + 1;
        while (first >= 0 && next < n &&
               ranks->ranks[indices[next]].digest->rank.rank == last + 1) {
            last++;
            next++;
        }
        if (first < 0) {
            tide_text_add_item(&to, ", ", "%s", digest->file);
        } else if (last > first) {
            tide_text_add_item(&to, ", ", "%" PRId64 "-%" PRId64, first, last);
        } else {
            tide_text_add_item(&to, ", ", "%" PRId64, first);
        }
        i = next;
    }
    return tide_arena_text(ranks->arena, bytes);
}

static tide_status fill_group(tide_ranks *ranks, size_t group, const named *names, size_t n) {
    TIDE_ASSERT(n > 0 && group < ranks->n_ranks);
    tide_rank_group *to = &ranks->groups[group];
    size_t *indices = tide_arena_alloc(ranks->arena, n, sizeof(*indices));
    int64_t *peaks = tide_arena_alloc(ranks->arena, n, sizeof(*peaks));
    if (indices == NULL || peaks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        indices[i] = names[i].rank;
        ranks->ranks[names[i].rank].group = group;
        peaks[i] = peak_of(&ranks->ranks[names[i].rank]);
    }
    qsort(peaks, n, sizeof(*peaks), by_number);
    *to = (tide_rank_group){.name = names[0].name,
                            .ranks = list_of(ranks, indices, n),
                            .n = n,
                            .low_bytes = peaks[0],
                            .median_bytes = peaks[(n - 1) / 2],
                            .high_bytes = peaks[n - 1]};
    return to->ranks != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status make_groups(tide_ranks *ranks, const char *group_by) {
    named *names = tide_arena_alloc(ranks->arena, ranks->n_ranks, sizeof(*names));
    ranks->groups = tide_arena_alloc(ranks->arena, ranks->n_ranks, sizeof(*ranks->groups));
    if (names == NULL || ranks->groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        names[i] =
            (named){tide_ranks_group_name(ranks->ranks[i].digest, group_by, ranks->arena), i};
        if (names[i].name == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    qsort(names, ranks->n_ranks, sizeof(*names), by_name);
    for (size_t i = 0; i < ranks->n_ranks;) {
        size_t n = 1;
        while (i + n < ranks->n_ranks && strcmp(names[i].name, names[i + n].name) == 0) {
            n++;
        }
        TIDE_TRY(fill_group(ranks, ranks->n_groups, &names[i], n));
        ranks->n_groups++;
        i += n;
    }
    return TIDE_OK;
}

typedef struct member {
    const tide_rank *rank;
    size_t index;
} member;

static int by_figures(const void *left, const void *right) {
    const member *a = left;
    const member *b = right;
    int order = order_of((int64_t)a->rank->group, (int64_t)b->rank->group);
    order = order != 0 ? order : tide_ranks_compare(a->rank->device, b->rank->device);
    return order != 0 ? order : order_of((int64_t)a->index, (int64_t)b->index);
}

bool tide_ranks_are_equal(const tide_rank *a, const tide_rank *b) {
    return a == b || (a->group == b->group && a->device != NULL &&
                      tide_ranks_compare(a->device, b->device) == 0);
}

static int by_first(const void *left, const void *right) {
    const tide_rank_fold *a = left;
    const tide_rank_fold *b = right;
    int order = order_of((int64_t)a->group, (int64_t)b->group);
    return order != 0 ? order : order_of((int64_t)a->first, (int64_t)b->first);
}

static bool is_outlier(const tide_ranks *ranks, const tide_rank_fold *fold) {
    TIDE_ASSERT(fold->group < ranks->n_groups);
    const tide_rank_group *group = &ranks->groups[fold->group];
    int64_t away = peak_of(&ranks->ranks[fold->first]) - group->median_bytes;
    away = away < 0 ? -away : away;
    return group->n > 2 && away > TIDE_OUTLIER_BYTES &&
           away > group->median_bytes / 100 * TIDE_OUTLIER_PERCENT;
}

/* What all of the fold have in common; "" where they differ. */
static const char *place_of(const tide_ranks *ranks, const size_t *indices, size_t n) {
    const char *first = tide_ranks_place(ranks->ranks[indices[0]].digest, ranks->arena);
    for (size_t i = 1; i < n && first != NULL; i++) {
        const char *place = tide_ranks_place(ranks->ranks[indices[i]].digest, ranks->arena);
        if (place == NULL || strcmp(place, first) != 0) {
            return place == NULL ? NULL : "";
        }
    }
    return first;
}

static tide_status fill_fold(tide_ranks *ranks, const member *members, size_t n) {
    TIDE_ASSERT(n > 0 && ranks->n_folds < ranks->n_ranks);
    tide_rank_fold *to = &ranks->folds[ranks->n_folds++];
    size_t *indices = tide_arena_alloc(ranks->arena, n, sizeof(*indices));
    if (indices == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        indices[i] = members[i].index;
    }
    *to = (tide_rank_fold){.ranks = list_of(ranks, indices, n),
                           .place = place_of(ranks, indices, n),
                           .first = indices[0],
                           .n = n,
                           .group = members[0].rank->group};
    to->is_outlier = is_outlier(ranks, to);
    return to->ranks != NULL && to->place != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status make_folds(tide_ranks *ranks) {
    size_t n = ranks->n_ranks;
    member *members = tide_arena_alloc(ranks->arena, n, sizeof(*members));
    ranks->folds = tide_arena_alloc(ranks->arena, n, sizeof(*ranks->folds));
    if (members == NULL || ranks->folds == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        members[i] = (member){&ranks->ranks[i], i};
    }
    qsort(members, n, sizeof(*members), by_figures);
    for (size_t i = 0; i < n;) {
        size_t n_equal = 1;
        while (i + n_equal < n &&
               tide_ranks_are_equal(members[i].rank, members[i + n_equal].rank)) {
            n_equal++;
        }
        TIDE_TRY(fill_fold(ranks, &members[i], n_equal));
        i += n_equal;
    }
    qsort(ranks->folds, ranks->n_folds, sizeof(*ranks->folds), by_first);
    return TIDE_OK;
}

/* ---- the whole job ---- */

/* When memory ran out, on the clocks of the hosts; -1: not known. */
static int64_t out_at_us(const tide_rank *rank) {
    const tide_digest_device *device = rank->device;
    return device->timeline_begin_unix_us > 0 && device->oom.time_ns >= 0
               ? device->timeline_begin_unix_us + device->oom.time_ns / 1000
               : -1;
}

static void find_first(tide_ranks *ranks) {
    int64_t first_us = 0, least = 0;
    size_t n_out = 0;
    ranks->first_out = ranks->least_headroom = SIZE_MAX;
    ranks->is_clock_known = true;
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_rank *rank = &ranks->ranks[i];
        if (rank->device == NULL) {
            continue;
        }
        if (rank->device->oom.event >= 0) {
            int64_t at_us = out_at_us(rank);
            n_out++;
            ranks->is_clock_known = ranks->is_clock_known && at_us >= 0;
            if (ranks->first_out == SIZE_MAX || (at_us >= 0 && at_us < first_us)) {
                first_us = at_us;
                ranks->first_out = i;
            }
        }
        if (rank->device->total_bytes >= 0 &&
            (ranks->least_headroom == SIZE_MAX || rank->device->headroom_bytes < least)) {
            least = rank->device->headroom_bytes;
            ranks->least_headroom = i;
        }
    }
    ranks->is_clock_known = ranks->is_clock_known || n_out == 1;
}

static void find_world(tide_ranks *ranks) {
    int64_t n_known = 0;
    ranks->world_size = -1;
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_snapshot_rank *rank = &ranks->ranks[i].digest->rank;
        ranks->world_size =
            rank->world_size > ranks->world_size ? rank->world_size : ranks->world_size;
        n_known += rank->rank >= 0 ? 1 : 0;
    }
    if (ranks->world_size > n_known) {
        ranks->n_missing = (size_t)(ranks->world_size - n_known);
    }
}

/* The name of a process group that no digest has is the user's mistake. */
static tide_status check_group_by(const tide_ranks *ranks, const char *group_by,
                                  tide_error *error) {
    static const char *const WORDS[] = {"role", "stage", "host", "none"};
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strcmp(group_by, WORDS[i]) == 0) {
            return TIDE_OK;
        }
    }
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_snapshot_rank *rank = &ranks->ranks[i].digest->rank;
        for (size_t g = 0; g < rank->n_groups; g++) {
            if (strcmp(rank->groups[g].name, group_by) == 0) {
                return TIDE_OK;
            }
        }
    }
    return tide_fail(error, TIDE_INVALID,
                     "--group-by: no rank has a process group '%.32s': use role, stage, host, none "
                     "or the name of one",
                     group_by);
}

tide_status tide_ranks_make(const tide_digest *const *digests, size_t n, const char *group_by,
                            tide_arena *arena, tide_ranks **ret_ranks, tide_error *error) {
    tide_ranks *ranks = tide_arena_alloc(arena, 1, sizeof(*ranks));
    if (ranks == NULL) {
        return TIDE_NO_MEMORY;
    }
    ranks->arena = arena;
    ranks->n_ranks = n;
    ranks->ranks = tide_arena_alloc(arena, n, sizeof(*ranks->ranks));
    if (ranks->ranks == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        ranks->ranks[i] = (tide_rank){digests[i], main_device(digests[i]), 0};
    }
    if (n > 0) {
        qsort(ranks->ranks, n, sizeof(*ranks->ranks), by_rank);
    }
    TIDE_TRY(refuse_twice(ranks, error));
    TIDE_TRY(check_group_by(ranks, group_by, error));
    TIDE_TRY(make_groups(ranks, group_by));
    TIDE_TRY(make_folds(ranks));
    find_first(ranks);
    find_world(ranks);
    TIDE_TRY(tide_ranks_find_differences(ranks));
    *ret_ranks = ranks;
    return TIDE_OK;
}
