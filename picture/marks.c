/* Bands, lines and marks of a picture. */
#include <stdio.h>
#include <string.h>

#include "common/text/bytes.h"
#include "picture/scene_internal.h"

#define PILL_HEIGHT TIDE_PICTURE_PX(20)
#define PILL_MARGIN TIDE_PICTURE_PX(8)
#define HATCH_WIDTH TIDE_PICTURE_PX(14)

/* ---- bands ---- */

/* A band as areas from its top down to the axis. Lower bands are drawn over it, so no gap shows
 * between two bands; where the band is empty, there is no area. */
static void draw_band(tide_picture_scene *scene, size_t band, const int64_t *tops) {
    const tide_picture_columns *columns = scene->columns;
    tide_picture_drawing *drawing = scene->drawing;
    int32_t bottom = scene->plot.y + scene->plot.h;
    tide_picture_add_path(drawing,
                          &(tide_picture_shape){.colour = scene->bands->bands[band].colour});
    for (size_t c = 0; c < columns->n;) {
        if (columns->bytes[c * columns->n_bands + band] <= 0) {
            c++;
            continue;
        }
        int32_t x = scene->plot.x + TIDE_PICTURE_PX((int32_t)c);
        int32_t y = tide_picture_row(scene, tops[c]);
        tide_picture_add_point(drawing, x, bottom, true);
        tide_picture_add_point(drawing, x, y, false);
        while (++c < columns->n && columns->bytes[c * columns->n_bands + band] > 0) {
            int32_t next = tide_picture_row(scene, tops[c]);
            x = scene->plot.x + TIDE_PICTURE_PX((int32_t)c);
            if (next != y) {
                tide_picture_add_point(drawing, x, y, false);
                tide_picture_add_point(drawing, x, next, false);
                y = next;
            }
        }
        x = scene->plot.x + TIDE_PICTURE_PX((int32_t)c);
        tide_picture_add_point(drawing, x, y, false);
        tide_picture_add_point(drawing, x, bottom, false);
    }
}

void tide_picture_draw_bands(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    int64_t *tops = tide_arena_copy(&scene->drawing->arena, columns->totals, columns->n,
                                    sizeof(*columns->totals));
    if (tops == NULL) {
        scene->drawing->status = TIDE_NO_MEMORY;
        return;
    }
    for (size_t band = columns->n_bands; band-- > 0;) {
        draw_band(scene, band, tops);
        for (size_t c = 0; c < columns->n; c++) {
            tops[c] -= columns->bytes[c * columns->n_bands + band];
        }
    }
}

/* The most reserved bytes of each column, as a line of steps. */
void tide_picture_draw_reserved(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    if (!scene->draws_reserved) {
        return;
    }
    tide_picture_add_path(scene->drawing, &(tide_picture_shape){.colour = scene->theme.ink,
                                                                .stroke = TIDE_PICTURE_PX(1.2)});
    int32_t y = tide_picture_row(scene, columns->reserved[0]);
    tide_picture_add_point(scene->drawing, scene->plot.x, y, true);
    for (size_t c = 1; c < columns->n; c++) {
        int32_t next = tide_picture_row(scene, columns->reserved[c]);
        int32_t x = scene->plot.x + TIDE_PICTURE_PX((int32_t)c);
        if (next != y) {
            tide_picture_add_point(scene->drawing, x, y, false);
            tide_picture_add_point(scene->drawing, x, next, false);
            y = next;
        }
    }
    tide_picture_add_point(scene->drawing, scene->plot.x + scene->plot.w, y, false);
}

/* ---- labels ---- */

static bool overlaps(const tide_picture_box *a, const tide_picture_box *b) {
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

bool tide_picture_take(tide_picture_scene *scene, const tide_picture_box *choices, size_t n,
                       tide_picture_box *ret_box) {
    for (size_t i = 0; i < n; i++) {
        bool is_free = true;
        for (size_t k = 0; k < scene->n_taken && is_free; k++) {
            is_free = !overlaps(&choices[i], &scene->taken[k]);
        }
        if (is_free) {
            *ret_box = choices[i];
            if (scene->n_taken < TIDE_PICTURE_MAX_BOXES) {
                scene->taken[scene->n_taken++] = choices[i];
            }
            return true;
        }
    }
    return false;
}

int32_t tide_picture_pill_width(const char *text) {
    return tide_picture_text_width(text, TIDE_PICTURE_FONT, true) + 2 * PILL_MARGIN;
}

void tide_picture_pill(tide_picture_scene *scene, const tide_picture_box *box, const char *text,
                       uint32_t colour) {
    tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = box->x,
                                                                .y = box->y,
                                                                .w = box->w,
                                                                .h = box->h,
                                                                .radius = box->h / 2,
                                                                .colour = colour});
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = box->x + box->w / 2,
                                                .y = box->y + TIDE_PICTURE_PX(14),
                                                .colour = scene->theme.background,
                                                .font = TIDE_PICTURE_FONT,
                                                .is_bold = true,
                                                .anchor = TIDE_PICTURE_CENTRE},
                          text);
}

/* A box of this width around x, moved into the plot. */
static tide_picture_box box_at(const tide_picture_scene *scene, int32_t x, int32_t y, int32_t width,
                               int32_t height) {
    int32_t most = scene->plot.x + scene->plot.w - width - TIDE_PICTURE_PX(2);
    int32_t left = x - width / 2;
    left = left > most ? most : left;
    left = left < scene->plot.x + TIDE_PICTURE_PX(2) ? scene->plot.x + TIDE_PICTURE_PX(2) : left;
    return (tide_picture_box){left, y, width, height};
}

/* Possible places for the label of a line, best first: near a place, beside other labels, at the
 * ends of the plot; above the line, else below it. */
static size_t label_places(const tide_picture_scene *scene, int32_t y, int32_t near_x,
                           int32_t width, tide_picture_box *to) {
    const int32_t rows[] = {y - TIDE_PICTURE_PX(17), y + TIDE_PICTURE_PX(3)};
    int32_t height = TIDE_PICTURE_PX(15);
    int32_t right = scene->plot.x + scene->plot.w;
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        to[n++] = box_at(scene, near_x, rows[i], width, height);
        for (size_t k = 0; k < scene->n_taken; k++) {
            const tide_picture_box *other = &scene->taken[k];
            int32_t gap = width / 2 + TIDE_PICTURE_PX(6);
            to[n++] = box_at(scene, other->x - gap, rows[i], width, height);
            to[n++] = box_at(scene, other->x + other->w + gap, rows[i], width, height);
        }
        to[n++] = box_at(scene, scene->plot.x, rows[i], width, height);
        to[n++] = box_at(scene, right, rows[i], width, height);
    }
    return n;
}

/* A text next to a line, on a background that hides the drawing under it. */
static void draw_label(tide_picture_scene *scene, const char *text, int32_t y, int32_t near_x,
                       uint32_t colour) {
    tide_picture_box choices[2 * (3 + 2 * TIDE_PICTURE_MAX_BOXES)];
    int32_t width = tide_picture_text_width(text, TIDE_PICTURE_FONT, false) + TIDE_PICTURE_PX(8);
    size_t n = label_places(scene, y, near_x, width, choices);
    tide_picture_box box;
    if (!tide_picture_take(scene, choices, n, &box)) {
        return;
    }
    tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = box.x,
                                                                .y = box.y,
                                                                .w = box.w,
                                                                .h = box.h,
                                                                .radius = TIDE_PICTURE_PX(3),
                                                                .colour = scene->theme.background});
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = box.x + TIDE_PICTURE_PX(4),
                                                .y = box.y + TIDE_PICTURE_PX(11.5),
                                                .colour = colour,
                                                .font = TIDE_PICTURE_FONT},
                          text);
}

static void label_reserved(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    char bytes[TIDE_BYTES_TEXT];
    char text[TIDE_PICTURE_TEXT_BYTES];
    if (!scene->draws_reserved) {
        return;
    }
    size_t at = columns->n;
    while (at-- > 0 && columns->reserved[at] < columns->most_reserved) {
    }
    (void)snprintf(text, sizeof(text), "reserved %s",
                   tide_bytes_format(columns->most_reserved, bytes));
    draw_label(scene, text, tide_picture_row(scene, columns->most_reserved),
               scene->plot.x + TIDE_PICTURE_PX((int32_t)at), scene->theme.ink);
}

static void draw_capacity(tide_picture_scene *scene) {
    char bytes[TIDE_BYTES_TEXT];
    char text[TIDE_PICTURE_TEXT_BYTES];
    if (!scene->draws_capacity) {
        return;
    }
    int32_t y = tide_picture_row(scene, scene->capacity_bytes);
    tide_picture_add_path(scene->drawing, &(tide_picture_shape){.colour = scene->theme.danger,
                                                                .stroke = TIDE_PICTURE_PX(1.5),
                                                                .dash = TIDE_PICTURE_PX(6)});
    tide_picture_add_point(scene->drawing, scene->plot.x, y, true);
    tide_picture_add_point(scene->drawing, scene->plot.x + scene->plot.w, y, false);
    (void)snprintf(text, sizeof(text), "%s %s", scene->capacity_words,
                   tide_bytes_format(scene->capacity_bytes, bytes));
    draw_label(scene, text, y, scene->plot.x, scene->theme.danger);
    if (scene->n_taken < TIDE_PICTURE_MAX_BOXES) {
        scene->taken[scene->n_taken++] = (tide_picture_box){scene->plot.x, y - TIDE_PICTURE_PX(1),
                                                            scene->plot.w, TIDE_PICTURE_PX(2)};
    }
}

/* ---- the peak ---- */

/* The highest curve, as a row, over some columns around the peak. */
static int32_t top_around(const tide_picture_scene *scene, const tide_picture_box *box) {
    const tide_picture_columns *columns = scene->columns;
    int32_t top = tide_picture_row(scene, columns->peak_bytes);
    int32_t highest = top;
    for (size_t c = 0; scene->draws_reserved && c < columns->n; c++) {
        int32_t x = scene->plot.x + TIDE_PICTURE_PX((int32_t)c);
        int32_t row = tide_picture_row(scene, columns->reserved[c]);
        if (x >= box->x && x < box->x + box->w && row < highest &&
            top - row < TIDE_PICTURE_PX(34)) {
            highest = row;
        }
    }
    return highest;
}

static void draw_peak(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    char bytes[TIDE_BYTES_TEXT];
    char text[TIDE_PICTURE_TEXT_BYTES];
    if (columns->peak_bytes <= 0) {
        return;
    }
    int32_t x = scene->plot.x + TIDE_PICTURE_PX((int32_t)columns->peak_column) + 5;
    int32_t y = tide_picture_row(scene, columns->peak_bytes);
    uint32_t ink = scene->theme.ink;
    (void)snprintf(text, sizeof(text), "%s %s%s", tide_picture_peak_word(scene),
                   scene->options->n_hidden > 0 ? "of what is shown " : "",
                   tide_bytes_format(columns->peak_bytes, bytes));
    tide_picture_box box = box_at(scene, x, 0, tide_picture_pill_width(text), PILL_HEIGHT);
    box.y = top_around(scene, &box) - TIDE_PICTURE_PX(29);
    /* To the side if the mark of a failure has that place. */
    int32_t aside = box.w / 2 + HATCH_WIDTH + TIDE_PICTURE_PX(4);
    const tide_picture_box choices[] = {box, box_at(scene, x - aside, box.y, box.w, box.h),
                                        box_at(scene, x + aside, box.y, box.w, box.h)};
    if (!tide_picture_take(scene, choices, 3, &box)) {
        scene->taken[scene->n_taken++] = box; /* there is room: see draw_oom */
    }
    if (x >= box.x + box.h / 2 && x < box.x + box.w - box.h / 2) {
        tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = x - 5,
                                                                    .y = box.y + box.h,
                                                                    .w = TIDE_PICTURE_PX(1),
                                                                    .h = y - box.y - box.h,
                                                                    .colour = ink});
    }
    tide_picture_add_path(scene->drawing, &(tide_picture_shape){.colour = ink});
    tide_picture_add_point(scene->drawing, x, y, true);
    tide_picture_add_point(scene->drawing, x - TIDE_PICTURE_PX(5), y - TIDE_PICTURE_PX(8), false);
    tide_picture_add_point(scene->drawing, x + TIDE_PICTURE_PX(5), y - TIDE_PICTURE_PX(8), false);
    tide_picture_pill(scene, &box, text, ink);
}

/* ---- failed allocations ---- */

static void hatch(tide_picture_scene *scene, const tide_picture_box *box) {
    tide_picture_drawing *drawing = scene->drawing;
    tide_picture_shape line = {.colour = scene->theme.danger, .stroke = TIDE_PICTURE_PX(1.5)};
    tide_picture_add_path(drawing, &line);
    tide_picture_add_point(drawing, box->x, box->y, true);
    tide_picture_add_point(drawing, box->x + box->w, box->y, false);
    tide_picture_add_point(drawing, box->x + box->w, box->y + box->h, false);
    tide_picture_add_point(drawing, box->x, box->y + box->h, false);
    tide_picture_add_point(drawing, box->x, box->y, false);
    /* Slanted lines, cut at the sides: y falls as x grows. */
    for (int32_t d = TIDE_PICTURE_PX(6); d < box->w + box->h; d += TIDE_PICTURE_PX(6)) {
        int32_t from = d > box->h ? d - box->h : 0;
        int32_t to = d < box->w ? d : box->w;
        tide_picture_add_path(drawing, &line);
        tide_picture_add_point(drawing, box->x + from, box->y + d - from, true);
        tide_picture_add_point(drawing, box->x + to, box->y + d - to, false);
    }
}

/* A line where memory ran out, and the requested bytes on top of the used ones. */
static void draw_oom(tide_picture_scene *scene, const tide_picture_oom *oom, int32_t *free_x) {
    const tide_picture_box *plot = &scene->plot;
    int32_t x = tide_picture_place(scene, oom->event);
    int32_t right = plot->x + plot->w - HATCH_WIDTH;
    tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = x - 7,
                                                                .y = plot->y,
                                                                .w = TIDE_PICTURE_PX(1.5),
                                                                .h = plot->h,
                                                                .colour = scene->theme.danger});
    if (x < *free_x) {
        return; /* the previous one is hatched here */
    }
    int32_t bottom = tide_picture_row(scene, oom->total_bytes);
    int64_t room = scene->top_bytes > oom->total_bytes ? scene->top_bytes - oom->total_bytes : 0;
    int64_t asked = oom->requested_bytes < room ? oom->requested_bytes : room;
    int32_t top = tide_picture_row(scene, oom->total_bytes + asked);
    top = top < bottom - TIDE_PICTURE_PX(6) ? top : bottom - TIDE_PICTURE_PX(6);
    const tide_picture_box box = {x < right ? x : right, top, HATCH_WIDTH, bottom - top};
    hatch(scene, &box);
    *free_x = x + HATCH_WIDTH;
    if (scene->n_taken < TIDE_PICTURE_MAX_BOXES / 2) {
        scene->taken[scene->n_taken++] = box;
    }
}

/* One label for all failures, in a row of its own above the curves. */
static void draw_ooms(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    char bytes[TIDE_BYTES_TEXT];
    char text[TIDE_PICTURE_TEXT_BYTES];
    int32_t free_x = INT32_MIN;
    if (columns->n_ooms == 0) {
        return;
    }
    for (size_t i = 0; i < columns->n_ooms && i < TIDE_PICTURE_MAX_OOMS; i++) {
        draw_oom(scene, &columns->ooms[i], &free_x);
    }
    tide_bytes_format(columns->ooms[0].requested_bytes, bytes);
    if (columns->n_ooms == 1) {
        (void)snprintf(text, sizeof(text), "out of memory: %s more", bytes);
    } else {
        (void)snprintf(text, sizeof(text), "out of memory %zu times, first: %s more",
                       columns->n_ooms, bytes);
    }
    tide_picture_box box =
        box_at(scene, tide_picture_place(scene, columns->ooms[0].event),
               scene->plot.y + TIDE_PICTURE_PX(1), tide_picture_pill_width(text), PILL_HEIGHT);
    (void)tide_picture_take(scene, &box, 1, &box);
    tide_picture_pill(scene, &box, text, scene->theme.danger);
}

void tide_picture_draw_marks(tide_picture_scene *scene) {
    draw_ooms(scene);
    draw_peak(scene);
    draw_capacity(scene);
    label_reserved(scene);
}
