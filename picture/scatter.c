#include "picture/scatter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/hostmem.h"
#include "common/text/bytes.h"
#include "common/text/milliseconds.h"
#include "picture/drawing_internal.h"

/* In pixels. */
enum {
    WIDTH = 860,
    LEFT = 90, /* of the plot */
    TOP = 56,
    PLOT_WIDTH = 730,
    PLOT_HEIGHT = 300,
    ROW = 20, /* of the list */
    RADIUS = 5,
    N_TICKS = 4,
    WORDS = 320,
    MOST_SPOTS = 512,
    SPOT_WIDTH = 15, /* of a dot or a number, with a gap */
    SPOT_HEIGHT = 12
};

#define PX TIDE_PICTURE_PX
#define FONT PX(12)
#define INK 0x1a1a1a
#define MUTED 0x5a5a5a
#define GRID 0xe0e0e0
#define FITTING 0x0072b2
#define OTHER 0xd55e00

/* The middle of a dot or of a number beside one. */
typedef struct spot {
    int32_t x, y;
} spot;

typedef struct scene {
    const tide_scatter *of; /* borrowed */
    tide_picture_drawing drawing;
    double top_bytes, top_ms; /* the ends of the axes; they begin at 0 */
    spot taken[MOST_SPOTS];   /* dots, then the numbers that were drawn; further ones are ignored */
    size_t n_taken;
} scene;

static bool is_drawn(const tide_scatter_point *point) {
    return point->bytes >= 0 && point->ms >= 0.0;
}

static int32_t x_of(const scene *to, double bytes) {
    return PX(LEFT) + (int32_t)lround(bytes / to->top_bytes * (double)PX(PLOT_WIDTH));
}

static int32_t y_of(const scene *to, double ms) {
    return PX(TOP + PLOT_HEIGHT) - (int32_t)lround(ms / to->top_ms * (double)PX(PLOT_HEIGHT));
}

static void add_words(scene *to, int32_t x, int32_t y, tide_picture_anchor anchor, uint32_t colour,
                      const char *words) {
    const tide_picture_shape shape = {
        .x = x, .y = y, .colour = colour, .font = FONT, .anchor = anchor};
    tide_picture_add_text(&to->drawing, &shape, words);
}

static void add_bar(scene *to, int32_t x, int32_t y, int32_t w, int32_t h, uint32_t colour) {
    const tide_picture_shape shape = {.x = x, .y = y, .w = w, .h = h, .colour = colour};
    tide_picture_add_rect(&to->drawing, &shape);
}

/* The largest of 1, 2 and 5 times a power of ten that is not above the number. */
static double round_step(double number) {
    double power = pow(10.0, floor(log10(number)));
    double digit = number / power;
    return power * (digit >= 5.0 ? 5.0 : digit >= 2.0 ? 2.0 : 1.0);
}

static void add_axes(scene *to) {
    char words[TIDE_BYTES_TEXT];
    double step_ms = round_step(to->top_ms / N_TICKS);
    double step_bytes = pow(2.0, floor(log2(to->top_bytes / N_TICKS)));
    for (int i = 0; i * step_ms <= to->top_ms; i++) {
        double ms = i * step_ms;
        int32_t y = y_of(to, ms);
        add_bar(to, PX(LEFT), y, PX(PLOT_WIDTH), PX(1), GRID);
        (void)snprintf(words, sizeof(words), "%.6g ms", ms);
        add_words(to, PX(LEFT - 8), y + PX(4), TIDE_PICTURE_RIGHT, MUTED, words);
    }
    for (int i = 0; i * step_bytes <= to->top_bytes; i++) {
        double bytes = i * step_bytes;
        int32_t x = x_of(to, bytes);
        add_bar(to, x, PX(TOP + PLOT_HEIGHT), PX(1), PX(4), MUTED);
        add_words(to, x, PX(TOP + PLOT_HEIGHT + 18), TIDE_PICTURE_CENTRE, MUTED,
                  tide_bytes_format((int64_t)bytes, words));
    }
    add_words(to, PX(LEFT), PX(TOP - 8), TIDE_PICTURE_LEFT, MUTED, to->of->y_title);
    add_words(to, PX(LEFT + PLOT_WIDTH), PX(TOP + PLOT_HEIGHT + 36), TIDE_PICTURE_RIGHT, MUTED,
              to->of->x_title);
}

static void add_limit(scene *to) {
    char bytes[TIDE_BYTES_TEXT];
    char words[WORDS];
    int32_t x = x_of(to, (double)to->of->limit_bytes);
    bool is_left = x < PX(LEFT + PLOT_WIDTH / 2);
    add_bar(to, x, PX(TOP), PX(1.5), PX(PLOT_HEIGHT), INK);
    (void)snprintf(words, sizeof(words), "%s: %s", to->of->limit_name,
                   tide_bytes_format(to->of->limit_bytes, bytes));
    add_words(to, x + (is_left ? PX(6) : -PX(6)), PX(TOP + 12),
              is_left ? TIDE_PICTURE_LEFT : TIDE_PICTURE_RIGHT, INK, words);
}

/* A dot, or a ring for a run that does not fit. */
static void add_point(scene *to, const tide_scatter_point *point) {
    int32_t x = x_of(to, (double)point->bytes);
    int32_t y = y_of(to, point->ms);
    for (int32_t ring = 0; ring < (point->fits ? 1 : 2); ring++) {
        int32_t radius = PX(RADIUS - 2 * ring);
        const tide_picture_shape dot = {.x = x - radius,
                                        .y = y - radius,
                                        .w = 2 * radius,
                                        .h = 2 * radius,
                                        .radius = radius,
                                        .colour = ring > 0      ? to->drawing.background
                                                  : point->fits ? FITTING
                                                                : OTHER};
        tide_picture_add_rect(&to->drawing, &dot);
    }
}

static void take(scene *to, spot at) {
    if (to->n_taken < MOST_SPOTS) {
        to->taken[to->n_taken++] = at;
    }
}

static bool is_free(const scene *to, spot at) {
    for (size_t i = 0; i < to->n_taken; i++) {
        if (abs(to->taken[i].x - at.x) < PX(SPOT_WIDTH) &&
            abs(to->taken[i].y - at.y) < PX(SPOT_HEIGHT)) {
            return false;
        }
    }
    return true;
}

/* The number of a dot, at the first free spot around it; near dots would hide each other's. */
static void add_number(scene *to, const tide_scatter_point *point, size_t number) {
    static const spot AROUND[] = {{13, -8}, {13, 10},  {-13, -8}, {-13, 10}, {0, -14},
                                  {0, 16},  {17, 1},   {-17, 1},  {13, -22}, {-13, -22},
                                  {13, 24}, {-13, 24}, {0, -28},  {0, 30}};
    char words[24];
    spot at = {0, 0};
    int32_t x = x_of(to, (double)point->bytes);
    int32_t y = y_of(to, point->ms);
    for (size_t i = 0; i < sizeof(AROUND) / sizeof(AROUND[0]); i++) {
        at = (spot){x + AROUND[i].x * PX(1), y + AROUND[i].y * PX(1)};
        if (is_free(to, at)) {
            break;
        }
    }
    take(to, at);
    (void)snprintf(words, sizeof(words), "%zu", number);
    add_words(to, at.x, at.y + PX(4), TIDE_PICTURE_CENTRE, INK, words);
}

/* The list below the plot: "2  checkpoint:Block   8.00 GiB, 120 ms, fits". */
static void add_row(scene *to, const tide_scatter_point *point, size_t number, size_t row) {
    char bytes[TIDE_BYTES_TEXT];
    char ms[TIDE_MS_TEXT];
    char words[WORDS];
    char name[WORDS];
    int32_t y = PX(TOP + PLOT_HEIGHT + 60) + (int32_t)row * PX(ROW);
    (void)snprintf(words, sizeof(words), "%zu", number);
    add_words(to, PX(LEFT - 14), y, TIDE_PICTURE_RIGHT, INK, words);
    (void)snprintf(words, sizeof(words), "%s, %s ms%s", tide_bytes_format(point->bytes, bytes),
                   tide_ms_format(point->ms, ms), point->fits ? ", fits" : "");
    add_words(to, PX(LEFT + PLOT_WIDTH), y, TIDE_PICTURE_RIGHT, point->fits ? FITTING : OTHER,
              words);
    int32_t room = PX(PLOT_WIDTH - 16) - tide_picture_text_width(words, FONT, false);
    tide_picture_text_fit(point->name, room, FONT, false, name, sizeof(name));
    add_words(to, PX(LEFT), y, TIDE_PICTURE_LEFT, INK, name);
}

/* All dots before the numbers, which keep away from them. */
static void add_points(scene *to) {
    size_t n = 0;
    for (size_t i = 0; i < to->of->n_points; i++) {
        const tide_scatter_point *point = &to->of->points[i];
        if (is_drawn(point)) {
            add_row(to, point, n + 1, n);
            add_point(to, point);
            take(to, (spot){x_of(to, (double)point->bytes), y_of(to, point->ms)});
            n++;
        }
    }
    n = 0;
    for (size_t i = 0; i < to->of->n_points; i++) {
        if (is_drawn(&to->of->points[i])) {
            add_number(to, &to->of->points[i], ++n);
        }
    }
}

static void lay_out(scene *to) {
    const tide_scatter *of = to->of;
    size_t n = 0;
    to->top_bytes = (double)of->limit_bytes;
    to->top_ms = 1e-6;
    for (size_t i = 0; i < of->n_points; i++) {
        const tide_scatter_point *point = &of->points[i];
        if (is_drawn(point)) {
            to->top_bytes = fmax(to->top_bytes, (double)point->bytes);
            to->top_ms = fmax(to->top_ms, point->ms);
            n++;
        }
    }
    to->top_bytes = fmax(to->top_bytes, 1.0) * 1.1;
    to->top_ms *= 1.15;
    to->drawing.width = PX(WIDTH);
    to->drawing.height = PX(TOP + PLOT_HEIGHT + 70) + (int32_t)n * PX(ROW);
    to->drawing.background = 0xffffff;
    to->drawing.title = tide_picture_clean(&to->drawing, of->title);
    to->drawing.content = "Runs of a program: their memory against the time of a step.";
    const tide_picture_shape title = {
        .x = PX(LEFT), .y = PX(24), .colour = INK, .font = PX(15), .is_bold = true};
    tide_picture_add_text(&to->drawing, &title, of->title);
    add_axes(to);
    add_limit(to);
    add_points(to);
}

tide_status tide_scatter_save(const tide_scatter *scatter, const char *path, tide_error *error) {
    scene to = {.of = scatter};
    tide_output_file file;
    tide_picture_drawing_init(&to.drawing, tide_hostmem_default());
    lay_out(&to);
    tide_status status = to.drawing.status;
    if (status == TIDE_OK) {
        status = tide_output_file_open(path, &file, error);
    }
    if (status == TIDE_OK) {
        tide_picture_write_svg(&to.drawing, &file);
        status = tide_output_file_commit(&file, error);
    }
    tide_picture_drawing_fini(&to.drawing);
    return status;
}
