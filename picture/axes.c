/* The axes of a picture: ticks as on the page (viewer/src/words/ticks.js). */
#include <math.h>
#include <stdio.h>

#include "picture/scene_internal.h"

#define TICK_GAP TIDE_PICTURE_PX(8) /* between a label and the plot */

int32_t tide_picture_row(const tide_picture_scene *scene, int64_t n_bytes) {
    return scene->plot.y + scene->plot.h -
           (int32_t)lround(scene->length_per_byte * (double)n_bytes);
}

static int32_t place_of(const tide_picture_scene *scene, double at) {
    double begin = (double)scene->axis->begin;
    double span = (double)scene->axis->end - begin;
    return scene->plot.x + (int32_t)lround((at - begin) / span * (double)scene->plot.w);
}

int32_t tide_picture_place_of(const tide_picture_scene *scene, int64_t at) {
    return place_of(scene, (double)at);
}

int32_t tide_picture_place(const tide_picture_scene *scene, size_t event) {
    return tide_picture_place_of(scene, tide_picture_axis_place(scene->axis, event));
}

/* ---- bytes ---- */

/* Ticks at multiples of a power of two: 256 MiB, 1 GiB, ... */
static int64_t byte_step(double top_bytes, int32_t height) {
    int64_t most = height / TIDE_PICTURE_PX(40);
    int64_t step = 1;
    most = most < 2 ? 2 : most;
    while (step <= INT64_MAX / 4 && floor(top_bytes / (double)step) > (double)most) {
        step *= 2;
    }
    return step;
}

/* "256 MiB", "1.5 GiB": without unneeded decimals. */
static void tick_text(int64_t n_bytes, char *to, size_t room) {
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n_bytes;
    size_t unit = 0;
    while (value >= 1024.0 && unit < sizeof(UNITS) / sizeof(UNITS[0]) - 1) {
        value /= 1024.0;
        unit++;
    }
    (void)snprintf(to, room, "%.6g %s", value, UNITS[unit]);
}

int32_t tide_picture_byte_axis_width(const tide_picture_scene *scene) {
    (void)scene;
    return tide_picture_text_width("512 MiB", TIDE_PICTURE_FONT, false) + TICK_GAP +
           TIDE_PICTURE_PX(2);
}

void tide_picture_draw_byte_axis(tide_picture_scene *scene) {
    double top = (double)scene->plot.h / scene->length_per_byte;
    int64_t step = byte_step(top, scene->plot.h);
    for (int64_t tick = 0; (double)tick <= top; tick += step) {
        char text[32];
        int32_t y = (tide_picture_row(scene, tick) + 5) / 10 * 10;
        if (y < scene->plot.y + TIDE_PICTURE_PX(4)) {
            break;
        }
        tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = scene->plot.x,
                                                                    .y = y,
                                                                    .w = scene->plot.w,
                                                                    .h = TIDE_PICTURE_PX(1),
                                                                    .colour = scene->theme.grid});
        tick_text(tick, text, sizeof(text));
        tide_picture_add_text(scene->drawing,
                              &(tide_picture_shape){.x = scene->plot.x - TICK_GAP,
                                                    .y = y + (tick == 0 ? 0 : TIDE_PICTURE_PX(4)),
                                                    .colour = scene->theme.muted,
                                                    .font = TIDE_PICTURE_FONT,
                                                    .anchor = TIDE_PICTURE_RIGHT},
                              text);
        if (tick > INT64_MAX - step) {
            break;
        }
    }
}

/* ---- events or time ---- */

/* 1, 2 or 5 times a power of ten. */
static double decimal_step(double span, double most, double least) {
    static const double FACTORS[] = {1.0, 2.0, 5.0, 10.0};
    double rough = span / most > least ? span / most : least;
    double power = pow(10.0, floor(log10(rough)));
    for (size_t i = 0; i < sizeof(FACTORS) / sizeof(FACTORS[0]); i++) {
        if (FACTORS[i] * power >= rough * (1.0 - 1e-9)) {
            return FACTORS[i] * power;
        }
    }
    return 10.0 * power;
}

/* "12,345" */
static void count_text(double value, char *to, size_t room) {
    char digits[32];
    int n = snprintf(digits, sizeof(digits), "%.0f", value);
    size_t n_used = 0;
    for (int i = 0; i < n && n_used + 2 < room; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            to[n_used++] = ',';
        }
        to[n_used++] = digits[i];
    }
    to[n_used] = '\0';
}

/* A unit for the whole axis, and decimals for the step. */
static void time_text(double ns, double step, double end, char *to, size_t room) {
    const char *unit = "ns";
    double size = 1.0;
    if (end >= 1e9 && step >= 1e6) {
        unit = "s";
        size = 1e9;
    } else if (step >= 1e4) {
        unit = "ms";
        size = 1e6;
    } else if (step >= 10.0) {
        unit = "\xC2\xB5s";
        size = 1e3;
    }
    int decimals = (int)ceil(-log10(step / size) - 1e-9);
    (void)snprintf(to, room, "%.*f %s", decimals > 0 ? decimals : 0, ns / size, unit);
}

static void draw_tick(tide_picture_scene *scene, double tick, const char *text) {
    const tide_picture_box *plot = &scene->plot;
    int32_t x = place_of(scene, tick);
    int32_t half = tide_picture_text_width(text, TIDE_PICTURE_FONT, false) / 2;
    int32_t line = x / 10 * 10 < plot->x + plot->w ? x / 10 * 10 : plot->x + plot->w - 10;
    tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = line,
                                                                .y = plot->y + plot->h,
                                                                .w = TIDE_PICTURE_PX(1),
                                                                .h = TIDE_PICTURE_PX(4),
                                                                .colour = scene->theme.muted});
    if (x - half < plot->x - TIDE_PICTURE_PX(2) ||
        x + half > plot->x + plot->w + TIDE_PICTURE_PX(10)) {
        return;
    }
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = x,
                                                .y = plot->y + plot->h + TIDE_PICTURE_PX(18),
                                                .colour = scene->theme.muted,
                                                .font = TIDE_PICTURE_FONT,
                                                .anchor = TIDE_PICTURE_CENTRE},
                          text);
}

void tide_picture_draw_place_axis(tide_picture_scene *scene) {
    const tide_picture_box *plot = &scene->plot;
    const tide_picture_axis *axis = scene->axis;
    tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = plot->x,
                                                                .y = plot->y + plot->h,
                                                                .w = plot->w,
                                                                .h = TIDE_PICTURE_PX(1),
                                                                .colour = scene->theme.muted});
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = plot->x - TICK_GAP,
                                                .y = plot->y + plot->h + TIDE_PICTURE_PX(18),
                                                .colour = scene->theme.muted,
                                                .font = TIDE_PICTURE_FONT,
                                                .anchor = TIDE_PICTURE_RIGHT},
                          axis->is_time ? "time" : "event");
    if (scene->snapshot->n_events == 0) {
        return;
    }
    double span = (double)axis->end - (double)axis->begin;
    double most = floor((double)plot->w / TIDE_PICTURE_PX(80));
    double step = decimal_step(span, most < 1.0 ? 1.0 : most, 1.0);
    double first = ceil((double)axis->begin / step - 1e-9);
    double last = floor((double)axis->end / step + 1e-9);
    for (size_t i = 0; (double)i <= last - first; i++) {
        double tick = (first + (double)i) * step;
        char text[48];
        if (axis->is_time) {
            time_text(tick, step, (double)axis->end, text, sizeof(text));
        } else {
            count_text(tick, text, sizeof(text));
        }
        draw_tick(scene, tick, text);
    }
}
