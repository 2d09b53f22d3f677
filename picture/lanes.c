/* Rows below the plot: steps, phases, layers and the program's own scopes, as on the page
 * (viewer/src/run/lanes.js). There are too many operators for a picture without zoom. */
#include <stdio.h>
#include <string.h>

#include "picture/scene_internal.h"

enum { MAX_LANES = 8, N_FIRST_KINDS = 4 };

#define LANE_ROW TIDE_PICTURE_PX(17)
#define LANE_HEIGHT TIDE_PICTURE_PX(14)
#define LEAST_NAME TIDE_PICTURE_PX(22) /* narrower boxes have no name */
#define NAME_GAP TIDE_PICTURE_PX(4)

/* One row. */
typedef struct lane {
    char title[48];
    uint16_t thread;
    int kind;     /* of its scopes; -1: all that no other scope encloses */
    int32_t next; /* boxes before this place are drawn */
} lane;

typedef struct lanes {
    lane rows[MAX_LANES];
    size_t n;
    size_t n_others;       /* threads without a row */
    uint32_t *first, *end; /* per scope, the events that it spans, including those of its children;
                              TIDE_NONE: none */
} lanes;

static const struct {
    tide_scope_kind kind;
    const char *title;
} FIRST_KINDS[N_FIRST_KINDS] = {{TIDE_SCOPE_STEP, "step"},
                                {TIDE_SCOPE_PHASE, "phase"},
                                {TIDE_SCOPE_LAYER, "layer"},
                                {TIDE_SCOPE_USER, "user"}};

/* Whether a scope of the same kind encloses it; then the row shows the outer one. */
static bool is_nested(const tide_snapshot *snapshot, size_t scope, int kind) {
    uint32_t around = snapshot->scopes[scope].parent;
    while (around != TIDE_NONE && kind >= 0 && snapshot->scopes[around].kind != kind) {
        around = snapshot->scopes[around].parent;
    }
    return around != TIDE_NONE;
}

static bool belongs(const tide_snapshot *snapshot, size_t scope, const lane *row) {
    const tide_scope_row *it = &snapshot->scopes[scope];
    return it->thread == row->thread && (row->kind < 0 || it->kind == row->kind) &&
           !is_nested(snapshot, scope, row->kind);
}

static lane *find_thread(lanes *of, uint16_t thread) {
    for (size_t i = 0; i < of->n; i++) {
        if (of->rows[i].thread == thread) {
            return &of->rows[i];
        }
    }
    return NULL;
}

/* A PyTorch snapshot has only the device that was current on the thread. */
static void add_thread(const tide_snapshot *snapshot, lanes *of, uint16_t thread) {
    if (of->n == MAX_LANES) {
        of->n_others++;
        return;
    }
    lane *row = &of->rows[of->n++];
    *row = (lane){.thread = thread, .kind = -1};
    bool is_pytorch = strcmp(snapshot->origin.format, "pytorch") == 0;
    (void)snprintf(row->title, sizeof(row->title), is_pytorch ? "cuda:%u" : "thread %u", thread);
}

static void choose_rows(const tide_snapshot *snapshot, lanes *of) {
    uint16_t main_thread = snapshot->scopes[0].thread;
    for (size_t k = 0; k < N_FIRST_KINDS; k++) {
        for (size_t s = 0; s < snapshot->n_scopes; s++) {
            if (snapshot->scopes[s].thread == main_thread &&
                snapshot->scopes[s].kind == FIRST_KINDS[k].kind) {
                lane *row = &of->rows[of->n++];
                *row = (lane){.thread = main_thread, .kind = (int)FIRST_KINDS[k].kind};
                (void)snprintf(row->title, sizeof(row->title), "%s", FIRST_KINDS[k].title);
                break;
            }
        }
    }
    uint16_t last = main_thread;
    for (size_t s = 0; s < snapshot->n_scopes; s++) {
        uint16_t thread = snapshot->scopes[s].thread;
        if (thread != last && thread != main_thread && find_thread(of, thread) == NULL) {
            add_thread(snapshot, of, thread);
        }
        last = thread;
    }
}

/* Parents come before their children, so a walk from the end reaches parents last. */
static bool find_events(const tide_picture_scene *scene, lanes *of) {
    const tide_snapshot *snapshot = scene->snapshot;
    tide_arena *arena = &scene->drawing->arena;
    of->first = tide_arena_alloc_raw(arena, snapshot->n_scopes, sizeof(*of->first));
    of->end = tide_arena_alloc_raw(arena, snapshot->n_scopes, sizeof(*of->end));
    if (of->first == NULL || of->end == NULL) {
        scene->drawing->status = TIDE_NO_MEMORY;
        return false;
    }
    for (size_t s = 0; s < snapshot->n_scopes; s++) {
        of->first[s] = of->end[s] = TIDE_NONE;
    }
    for (size_t e = 0; e < snapshot->n_events; e++) {
        uint32_t scope = tide_index_at(&snapshot->events.scope, e);
        if (scope != TIDE_NONE) {
            of->first[scope] = of->first[scope] == TIDE_NONE ? (uint32_t)e : of->first[scope];
            of->end[scope] = (uint32_t)e + 1;
        }
    }
    for (size_t s = snapshot->n_scopes; s-- > 0;) {
        uint32_t parent = snapshot->scopes[s].parent;
        if (parent == TIDE_NONE || of->first[s] == TIDE_NONE) {
            continue;
        }
        if (of->first[parent] == TIDE_NONE || of->first[s] < of->first[parent]) {
            of->first[parent] = of->first[s];
        }
        if (of->end[parent] == TIDE_NONE || of->end[s] > of->end[parent]) {
            of->end[parent] = of->end[s];
        }
    }
    return true;
}

/* Where a scope begins and ends on the axis; false if it has no place on the axis. */
static bool span_of(const tide_picture_scene *scene, const lanes *of, size_t scope,
                    int64_t *ret_begin, int64_t *ret_end) {
    const tide_scope_row *it = &scene->snapshot->scopes[scope];
    const tide_picture_axis *axis = scene->axis;
    if (!axis->is_time) {
        *ret_begin = of->first[scope];
        *ret_end = of->end[scope];
        return of->first[scope] != TIDE_NONE;
    }
    if (it->duration_ns == TIDE_SCOPE_NO_INTERVAL) {
        return false;
    }
    bool is_open = it->duration_ns < 0 || it->duration_ns > axis->end - it->begin_ns;
    *ret_begin = it->begin_ns > axis->begin ? it->begin_ns : axis->begin;
    *ret_end = is_open ? axis->end : it->begin_ns + it->duration_ns;
    return *ret_end >= *ret_begin;
}

/* "step 2", "layer 5", "forward" */
static void name_of(const tide_snapshot *snapshot, size_t scope, char *to, size_t room) {
    const tide_scope_row *it = &snapshot->scopes[scope];
    const char *name = tide_snapshot_text(snapshot, it->name);
    bool is_warmup = it->kind == TIDE_SCOPE_STEP && strcmp(name, "warmup") == 0;
    name = is_warmup ? "warm-up" : name[0] == '\0' ? "?" : name;
    if (it->index < 0) {
        (void)snprintf(to, room, "%s", name);
    } else {
        (void)snprintf(to, room, "%s %d", name, (int)it->index);
    }
}

static void draw_box(tide_picture_scene *scene, size_t scope, const tide_picture_box *box) {
    char name[TIDE_PICTURE_TEXT_BYTES];
    char fitted[TIDE_PICTURE_TEXT_BYTES];
    tide_picture_add_rect(
        scene->drawing,
        &(tide_picture_shape){
            .x = box->x, .y = box->y, .w = box->w, .h = box->h, .colour = scene->theme.lane});
    if (box->w < LEAST_NAME) {
        return;
    }
    name_of(scene->snapshot, scope, name, sizeof(name));
    int32_t index = scene->snapshot->scopes[scope].index;
    if (index >= 0 &&
        tide_picture_text_width(name, TIDE_PICTURE_FONT_NOTE, false) > box->w - 2 * NAME_GAP) {
        (void)snprintf(name, sizeof(name), "%d", (int)index); /* the row's label names the kind */
    }
    tide_picture_text_fit(name, box->w - 2 * NAME_GAP, TIDE_PICTURE_FONT_NOTE, false, fitted,
                          sizeof(fitted));
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = box->x + NAME_GAP,
                                                .y = box->y + TIDE_PICTURE_PX(11),
                                                .colour = scene->theme.ink,
                                                .font = TIDE_PICTURE_FONT_NOTE},
                          fitted);
}

/* Boxes are a pixel apart. Of several in one pixel the first is drawn. */
static void draw_scope(tide_picture_scene *scene, const lanes *of, lane *row, size_t scope,
                       int32_t y) {
    int64_t begin = 0;
    int64_t end = 0;
    if (!span_of(scene, of, scope, &begin, &end)) {
        return;
    }
    int32_t left = tide_picture_place_of(scene, begin) / 10 * 10;
    int32_t right = tide_picture_place_of(scene, end) / 10 * 10;
    left = left < row->next ? row->next : left;
    int32_t limit = scene->plot.x + scene->plot.w;
    if (left >= limit || (right <= left && row->next > scene->plot.x && left == row->next)) {
        return;
    }
    int32_t width =
        right - left > TIDE_PICTURE_PX(3) ? right - left - TIDE_PICTURE_PX(1) : TIDE_PICTURE_PX(1);
    draw_box(scene, scope, &(tide_picture_box){left, y, width, LANE_HEIGHT});
    row->next = left + width;
}

static void draw_row(tide_picture_scene *scene, const lanes *of, lane *row, int32_t y) {
    char title[TIDE_PICTURE_TEXT_BYTES];
    row->next = scene->plot.x;
    tide_picture_text_fit(row->title, scene->plot.x - TIDE_PICTURE_PX(12), TIDE_PICTURE_FONT_NOTE,
                          false, title, sizeof(title));
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = scene->plot.x - TIDE_PICTURE_PX(8),
                                                .y = y + TIDE_PICTURE_PX(11),
                                                .colour = scene->theme.muted,
                                                .font = TIDE_PICTURE_FONT_NOTE,
                                                .anchor = TIDE_PICTURE_RIGHT},
                          title);
    for (size_t s = 0; s < scene->snapshot->n_scopes; s++) {
        if (belongs(scene->snapshot, s, row)) {
            draw_scope(scene, of, row, s, y);
        }
    }
}

int32_t tide_picture_lanes_height(tide_picture_scene *scene) {
    lanes of = {.n = 0};
    if (scene->snapshot->n_scopes == 0 || scene->options->leaves_out_scopes) {
        return 0;
    }
    choose_rows(scene->snapshot, &of);
    if (of.n_others > 0) {
        tide_picture_note(scene, "Not drawn: scopes of %zu more thread%s.", of.n_others,
                          of.n_others == 1 ? "" : "s");
    }
    return (int32_t)of.n * LANE_ROW;
}

void tide_picture_draw_lanes(tide_picture_scene *scene, int32_t y) {
    lanes of = {.n = 0};
    if (scene->snapshot->n_scopes == 0 || scene->options->leaves_out_scopes ||
        !find_events(scene, &of)) {
        return;
    }
    choose_rows(scene->snapshot, &of);
    for (size_t i = 0; i < of.n; i++) {
        draw_row(scene, &of, &of.rows[i], y + (int32_t)i * LANE_ROW);
    }
}
