/* Bands by line of the program: the lines that hold the most at any time get a band of their own,
 * all others share one. */
#include <stdio.h>
#include <string.h>

#include "common/text/strings.h"
#include "picture/series_internal.h"
#include "snapshot/analysis/user_frame.h"

enum {
    MAX_LINES = 12,   /* bands, including the band of the others */
    LABEL_BYTES = 400 /* of a line in the legend; longer ones are cut */
};
#define OTHERS_COLOUR 0xb9bdc4U
#define BEFORE "from before the recording"
#define NOWHERE "no call stack"

/* Blocks of one line. */
typedef struct kind {
    uint32_t name;       /* number of its text */
    uint8_t band;        /* that it goes into */
    bool is_chosen;      /* it has a band of its own */
    bool is_grey;        /* unknown */
    int64_t now_bytes;   /* while the events are walked */
    int64_t most_bytes;  /* at any time */
    int64_t peak_bytes;  /* at the peak of the device */
    double bytes, alive; /* of all its blocks; the same times the share of the events during which
                            they live */
} kind;

typedef struct sorter {
    const tide_snapshot *snapshot;
    const tide_lifetimes *lifetimes;
    size_t device;
    tide_strings names;     /* a text for each kind, and its number */
    uint32_t *kind_of;      /* per lifetime */
    uint32_t *kind_of_path; /* per call stack, TIDE_NONE: not yet known */
    kind *kinds;            /* as many as there are names */
} sorter;

/* ---- the line of a block ---- */

static tide_status kind_of_block(sorter *of, const tide_lifetime *lifetime, uint32_t *ret_kind) {
    uint32_t stack = lifetime->stack;
    char text[LABEL_BYTES];
    if (stack == TIDE_NONE) {
        return tide_strings_intern(&of->names, lifetime->born == 0 ? BEFORE : NOWHERE, ret_kind);
    }
    if (of->kind_of_path[stack] == TIDE_NONE) {
        tide_frame_text(of->snapshot, tide_user_frame(of->snapshot, stack), text, sizeof(text));
        TIDE_TRY(tide_strings_intern(&of->names, text, &of->kind_of_path[stack]));
    }
    *ret_kind = of->kind_of_path[stack];
    return TIDE_OK;
}

static tide_status name_kinds(sorter *of) {
    const tide_lifetimes *lifetimes = of->lifetimes;
    for (size_t i = 0; i < of->snapshot->n_stacks; i++) {
        of->kind_of_path[i] = TIDE_NONE;
    }
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        if (tide_picture_counts(&lifetimes->lifetimes[i], of->device)) {
            TIDE_TRY(kind_of_block(of, &lifetimes->lifetimes[i], &of->kind_of[i]));
        }
    }
    return TIDE_OK;
}

/* ---- the bytes of the kinds ---- */

/* Lifetimes in the order of their frees. `starts` has room for two more than there are states; its
 * last entry gets the number of frees. */
static void order_frees(const sorter *of, uint32_t *starts, uint32_t *order) {
    size_t n_states = of->snapshot->n_events + 1;
    const tide_lifetimes *lifetimes = of->lifetimes;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        if (lifetimes->lifetimes[i].freed < n_states) {
            starts[lifetimes->lifetimes[i].freed + 1]++;
        }
    }
    for (size_t s = 0; s < n_states; s++) {
        starts[s + 1] += starts[s];
    }
    starts[n_states + 1] = starts[n_states];
    /* Up to here entry s + 1 is where the frees of state s end; filling moves it to their
     * beginning. */
    for (size_t i = lifetimes->n_lifetimes; i-- > 0;) {
        if (lifetimes->lifetimes[i].freed < n_states) {
            order[--starts[lifetimes->lifetimes[i].freed + 1]] = (uint32_t)i;
        }
    }
}

/* Walks the states, so the maximum of each kind is exact. */
static void walk(sorter *of, const uint32_t *starts, const uint32_t *order) {
    const tide_lifetimes *lifetimes = of->lifetimes;
    size_t n_states = of->snapshot->n_events + 1;
    size_t next_born = 0;
    size_t next_freed = 0;
    size_t n_freed = starts[n_states + 1];
    for (size_t s = 0; s < n_states; s++) {
        for (; next_freed < n_freed && lifetimes->lifetimes[order[next_freed]].freed == s;
             next_freed++) {
            const tide_lifetime *lifetime = &lifetimes->lifetimes[order[next_freed]];
            if (tide_picture_counts(lifetime, of->device)) {
                of->kinds[of->kind_of[order[next_freed]]].now_bytes -=
                    (int64_t)lifetime->block_bytes;
            }
        }
        for (; next_born < lifetimes->n_lifetimes && lifetimes->lifetimes[next_born].born == s;
             next_born++) {
            const tide_lifetime *lifetime = &lifetimes->lifetimes[next_born];
            if (tide_picture_counts(lifetime, of->device)) {
                kind *its = &of->kinds[of->kind_of[next_born]];
                its->now_bytes += (int64_t)lifetime->block_bytes;
                its->most_bytes =
                    its->now_bytes > its->most_bytes ? its->now_bytes : its->most_bytes;
            }
        }
    }
}

static void measure(sorter *of) {
    const tide_lifetimes *lifetimes = of->lifetimes;
    double n_states = (double)of->snapshot->n_events + 1.0;
    int64_t peak = lifetimes->devices[of->device].max[TIDE_MAX_ALLOCATED].event;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        if (!tide_picture_counts(lifetime, of->device)) {
            continue;
        }
        kind *its = &of->kinds[of->kind_of[i]];
        double freed =
            lifetime->freed == TIDE_LIFETIME_FOREVER ? n_states : (double)lifetime->freed;
        its->bytes += (double)lifetime->block_bytes;
        its->alive += (double)lifetime->block_bytes * (freed - (double)lifetime->born) / n_states;
        if (tide_lifetime_is_allocated(lifetime, peak)) {
            its->peak_bytes += (int64_t)lifetime->block_bytes;
        }
    }
}

/* ---- from kinds to bands ---- */

/* Grey is at the bottom, then long-lived kinds; short-lived kinds are on top. */
static bool lies_below(const kind *a, const kind *b) {
    if (a->is_grey != b->is_grey) {
        return a->is_grey;
    }
    double a_stays = a->bytes > 0.0 ? a->alive / a->bytes : 0.0;
    double b_stays = b->bytes > 0.0 ? b->alive / b->bytes : 0.0;
    return a_stays > b_stays || (a_stays == b_stays && a->peak_bytes > b->peak_bytes);
}

static bool is_larger_at_peak(const kind *a, const kind *b) {
    return a->peak_bytes > b->peak_bytes || (a->peak_bytes == b->peak_bytes && a->alive > b->alive);
}

/* The kind that comes first by `comes_before` among the chosen ones that are not done yet. */
static size_t take_next(const sorter *of, const size_t *chosen, size_t n, bool *is_done,
                        bool (*comes_before)(const kind *a, const kind *b)) {
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (!is_done[i] &&
            (best == n || comes_before(&of->kinds[chosen[i]], &of->kinds[chosen[best]]))) {
            best = i;
        }
    }
    is_done[best] = true;
    return chosen[best];
}

/* The kinds with the highest maxima; on ties, in the order of their names' numbers. */
static size_t choose(sorter *of, size_t *chosen) {
    size_t n_kinds = of->names.n_texts;
    size_t n = n_kinds <= MAX_LINES ? n_kinds : MAX_LINES - 1;
    for (size_t i = 0; i < n; i++) {
        size_t best = n_kinds;
        for (size_t k = 0; k < n_kinds; k++) {
            if (!of->kinds[k].is_chosen &&
                (best == n_kinds || of->kinds[k].most_bytes > of->kinds[best].most_bytes)) {
                best = k;
            }
        }
        of->kinds[best].is_chosen = true;
        chosen[i] = best;
    }
    return n;
}

static tide_status add_bands(sorter *of, tide_picture_bands *bands) {
    size_t chosen[MAX_LINES];
    uint32_t colours[MAX_LINES] = {0};
    size_t n = choose(of, chosen);
    bool is_done[MAX_LINES] = {false};
    size_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = take_next(of, chosen, n, is_done, is_larger_at_peak);
        of->kinds[at].band = (uint8_t)i; /* for a moment: its place in `colours` */
        colours[i] =
            of->kinds[at].is_grey ? TIDE_PICTURE_NO_COLOUR : tide_picture_colour_ranked(rank++);
    }
    memset(is_done, 0, sizeof(is_done));
    for (size_t i = 0; i < n; i++) {
        kind *its = &of->kinds[take_next(of, chosen, n, is_done, lies_below)];
        const char *text = tide_arena_text(&bands->arena, tide_strings_text(&of->names, its->name));
        if (text == NULL) {
            return TIDE_NO_MEMORY;
        }
        bands->bands[bands->n_bands++] =
            (tide_picture_band){.key = text, .label = text, .colour = colours[its->band]};
        its->band = (uint8_t)i;
    }
    size_t n_others = of->names.n_texts - n;
    if (n_others > 0) {
        char label[48];
        (void)snprintf(label, sizeof(label), "%zu other lines", n_others);
        const char *text = tide_arena_text(&bands->arena, label);
        if (text == NULL) {
            return TIDE_NO_MEMORY;
        }
        bands->bands[bands->n_bands++] =
            (tide_picture_band){.key = text, .label = text, .colour = OTHERS_COLOUR};
    }
    return TIDE_OK;
}

static tide_status give_bands(sorter *of, tide_picture_bands *bands) {
    size_t n_lifetimes = of->lifetimes->n_lifetimes;
    uint8_t *of_lifetime = tide_arena_alloc(&bands->arena, n_lifetimes, sizeof(*of_lifetime));
    if (of_lifetime == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(add_bands(of, bands));
    for (size_t i = 0; i < n_lifetimes; i++) {
        if (tide_picture_counts(&of->lifetimes->lifetimes[i], of->device)) {
            const kind *its = &of->kinds[of->kind_of[i]];
            of_lifetime[i] = its->is_chosen ? its->band : (uint8_t)(bands->n_bands - 1);
        }
    }
    bands->of_lifetime = of_lifetime;
    return TIDE_OK;
}

static tide_status measure_kinds(sorter *of) {
    const tide_hostmem *mem = of->lifetimes->mem;
    uint32_t *starts = tide_hostmem_zeroed(mem, of->snapshot->n_events + 3, sizeof(*starts));
    uint32_t *order = tide_hostmem_zeroed(mem, of->lifetimes->n_lifetimes, sizeof(*order));
    tide_status status = TIDE_NO_MEMORY;
    if (starts != NULL && order != NULL) {
        order_frees(of, starts, order);
        walk(of, starts, order);
        measure(of);
        status = TIDE_OK;
    }
    mem->release(mem->ctx, starts);
    mem->release(mem->ctx, order);
    return status;
}

static tide_status make_kinds(sorter *of) {
    TIDE_TRY(name_kinds(of));
    size_t n_kinds = of->names.n_texts;
    of->kinds = tide_hostmem_zeroed(of->lifetimes->mem, n_kinds, sizeof(*of->kinds));
    if (of->kinds == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t k = 0; k < n_kinds; k++) {
        const char *text = tide_strings_text(&of->names, (uint32_t)k);
        of->kinds[k].name = (uint32_t)k;
        of->kinds[k].is_grey = strcmp(text, BEFORE) == 0 || strcmp(text, NOWHERE) == 0;
    }
    return measure_kinds(of);
}

tide_status tide_picture_bands_by_line(tide_picture_bands *bands, const tide_snapshot *snapshot,
                                       const tide_lifetimes *lifetimes, size_t device) {
    const tide_hostmem *mem = lifetimes->mem;
    sorter of = {.snapshot = snapshot, .lifetimes = lifetimes, .device = device};
    tide_strings_init(&of.names, mem);
    of.kind_of = tide_hostmem_zeroed(mem, lifetimes->n_lifetimes, sizeof(*of.kind_of));
    of.kind_of_path = tide_hostmem_zeroed(mem, snapshot->n_stacks, sizeof(*of.kind_of_path));
    tide_status status = TIDE_NO_MEMORY;
    if (of.kind_of != NULL && of.kind_of_path != NULL) {
        status = make_kinds(&of);
    }
    if (status == TIDE_OK) {
        status = give_bands(&of, bands);
    }
    mem->release(mem->ctx, of.kinds);
    mem->release(mem->ctx, of.kind_of_path);
    mem->release(mem->ctx, of.kind_of);
    tide_strings_fini(&of.names);
    return status;
}
