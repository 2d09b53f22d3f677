/* The places of the parts of a picture, and the lines that fit into it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text/bytes.h"
#include "picture/scene_internal.h"

#define MARGIN TIDE_PICTURE_PX(12)
#define TITLE_ROW TIDE_PICTURE_PX(21)
#define SUBTITLE_ROW TIDE_PICTURE_PX(17)
#define LEGEND_ROW TIDE_PICTURE_PX(18)
#define NOTE_ROW TIDE_PICTURE_PX(15)
#define TICK_ROW TIDE_PICTURE_PX(24)
#define LEAST_PLOT TIDE_PICTURE_PX(60)
#define PILL_ROOM TIDE_PICTURE_PX(31) /* above the peak, for its mark */
#define OOM_ROOM TIDE_PICTURE_PX(24)  /* for the label of failures, above that */
#define LABEL_ROOM TIDE_PICTURE_PX(18)

/* A line higher than this many times the used bytes would flatten the bands. The page has the same
 * bound for the capacity (viewer/src/answers/compare.js). */
#define MOST_CAPACITY 1.5
#define MOST_RESERVED 2.0

void tide_picture_note(tide_picture_scene *scene, const char *format, ...) {
    if (scene->n_notes == TIDE_PICTURE_MAX_NOTES) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(scene->notes[scene->n_notes++], TIDE_PICTURE_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

/* ---- which lines are drawn ---- */

static void find_capacity(tide_picture_scene *scene) {
    const tide_snapshot *snapshot = scene->snapshot;
    const tide_snapshot_device *device = &snapshot->devices[scene->device];
    bool is_limited = snapshot->run.memory_limit_bytes > 0;
    scene->capacity_bytes = is_limited                ? snapshot->run.memory_limit_bytes
                            : device->total_bytes > 0 ? device->total_bytes
                                                      : -1;
    scene->capacity_words = is_limited                         ? "memory limit"
                            : strcmp(device->kind, "cpu") == 0 ? "free at the start"
                                                               : "device capacity";
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The requested bytes of failed allocations are shown unless they would flatten the picture. */
static int64_t top_of_ooms(const tide_picture_columns *columns, int64_t used_bytes) {
    int64_t top = 0;
    for (size_t i = 0; i < columns->n_ooms && i < TIDE_PICTURE_MAX_OOMS; i++) {
        int64_t bound = used_bytes + used_bytes / 2;
        int64_t total = columns->ooms[i].total_bytes;
        int64_t asked = columns->ooms[i].requested_bytes;
        top = larger(top, asked < bound - total ? total + asked : bound);
    }
    return top;
}

static void choose_lines(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    char text[TIDE_BYTES_TEXT];
    int64_t top = larger(1, columns->peak_bytes);
    scene->draws_reserved =
        columns->most_reserved > 0 && (double)columns->most_reserved <= MOST_RESERVED * (double)top;
    if (scene->draws_reserved) {
        top = larger(top, columns->most_reserved);
    } else if (columns->most_reserved > 0) {
        tide_picture_note(scene, "Not drawn, as it would flatten the picture: reserved, up to %s.",
                          tide_bytes_format(columns->most_reserved, text));
    }
    top = larger(top, top_of_ooms(columns, top));
    scene->draws_capacity =
        scene->capacity_bytes > 0 && (double)scene->capacity_bytes <= MOST_CAPACITY * (double)top;
    if (scene->draws_capacity) {
        top = larger(top, scene->capacity_bytes);
    } else if (scene->capacity_bytes > 0) {
        tide_picture_note(scene, "Not drawn, as it would flatten the picture: %s, %s.",
                          scene->capacity_words, tide_bytes_format(scene->capacity_bytes, text));
    }
    scene->top_bytes = top;
}

static void note_hidden(tide_picture_scene *scene) {
    char text[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < scene->bands->n_bands; i++) {
        const tide_picture_band *band = &scene->bands->bands[i];
        if (band->is_hidden) {
            tide_picture_note(scene, "Not shown: %s, %s at this peak.", band->label,
                              tide_bytes_format(band->peak_bytes, text));
        }
    }
}

/* The scale leaves room above the curves for the labels. */
static void choose_scale(tide_picture_scene *scene) {
    const tide_picture_columns *columns = scene->columns;
    double height = (double)scene->plot.h - (columns->n_ooms > 0 ? OOM_ROOM : 0);
    int64_t curve =
        larger(1, larger(columns->peak_bytes, scene->draws_reserved ? columns->most_reserved : 0));
    double by_curve = (height - PILL_ROOM) / (double)curve;
    double by_top = (height - LABEL_ROOM) / (double)scene->top_bytes;
    scene->length_per_byte = by_curve < by_top ? by_curve : by_top;
}

/* ---- rows of text ---- */

static void add_line(tide_picture_scene *scene, const char *text, int32_t y,
                     const tide_picture_shape *as) {
    char fitted[TIDE_PICTURE_TEXT_BYTES];
    tide_picture_shape shape = *as;
    shape.x = MARGIN;
    shape.y = y;
    tide_picture_text_fit(text, scene->drawing->width - 2 * MARGIN, as->font, as->is_bold, fitted,
                          sizeof(fitted));
    tide_picture_add_text(scene->drawing, &shape, fitted);
}

/* The bytes of the text's next row: whole words that fit, at least one. */
static size_t next_row(const char *text, int32_t width, int32_t font) {
    char part[TIDE_PICTURE_TEXT_BYTES];
    size_t n = 0;
    for (size_t end = 0; text[n] != '\0'; n = end) {
        end = n + strspn(text + n, " ");
        end += strcspn(text + end, " ");
        (void)snprintf(part, sizeof(part), "%.*s", (int)end, text);
        if (n > 0 && tide_picture_text_width(part, font, false) > width) {
            break;
        }
    }
    return n;
}

/* Writes a text in as many rows as it needs, the first with its base line at `y`,
 * or only counts them. */
static size_t add_rows(tide_picture_scene *scene, const char *text, int32_t y, int32_t height,
                       const tide_picture_shape *as, bool is_counting) {
    size_t n_rows = 0;
    while (text[0] != '\0') {
        char row[TIDE_PICTURE_TEXT_BYTES];
        size_t n = next_row(text, scene->drawing->width - 2 * MARGIN, as->font);
        (void)snprintf(row, sizeof(row), "%.*s", (int)n, text);
        if (!is_counting) {
            add_line(scene, row, y + (int32_t)n_rows * height, as);
        }
        n_rows++;
        text += n;
        text += strspn(text, " ");
    }
    return n_rows;
}

/* The title with the peak's figure, which is not cut if the title does not fit. Returns the row
 * below. */
static int32_t add_title(tide_picture_scene *scene, int32_t y) {
    char bytes[TIDE_BYTES_TEXT];
    char peak[TIDE_PICTURE_TEXT_BYTES];
    char whole[TIDE_PICTURE_TEXT_BYTES * 2];
    char title[TIDE_PICTURE_TEXT_BYTES];
    bool is_part = scene->options->n_hidden > 0;
    bool has_title = scene->options->title[0] != '\0';
    (void)snprintf(peak, sizeof(peak), "%s%s %s%s", has_title ? ": " : "",
                   tide_picture_peak_word(scene), is_part ? "of what is shown " : "",
                   tide_bytes_format(scene->columns->peak_bytes, bytes));
    int32_t room = scene->drawing->width - 2 * MARGIN -
                   tide_picture_text_width(peak, TIDE_PICTURE_FONT_TITLE, true);
    tide_picture_text_fit(scene->options->title, room, TIDE_PICTURE_FONT_TITLE, true, title,
                          sizeof(title));
    (void)snprintf(whole, sizeof(whole), "%s%s", title, peak);
    add_line(scene, whole, y + TIDE_PICTURE_PX(15),
             &(tide_picture_shape){
                 .colour = scene->theme.ink, .font = TIDE_PICTURE_FONT_TITLE, .is_bold = true});
    y += TITLE_ROW;
    const tide_picture_shape as = {.colour = scene->theme.muted, .font = TIDE_PICTURE_FONT};
    size_t n_rows =
        add_rows(scene, scene->subtitle, y + TIDE_PICTURE_PX(12), SUBTITLE_ROW, &as, false);
    return y + (int32_t)n_rows * SUBTITLE_ROW;
}

/* One entry of the legend at *x, *y, or in the next row if it does not fit. */
static void add_entry(tide_picture_scene *scene, const tide_picture_band *band, int32_t *x,
                      int32_t *y) {
    char bytes[TIDE_BYTES_TEXT];
    char label[TIDE_PICTURE_TEXT_BYTES];
    int32_t room = scene->drawing->width - 2 * MARGIN;
    tide_bytes_format(band->peak_bytes, bytes);
    int32_t bytes_width = tide_picture_text_width(bytes, TIDE_PICTURE_FONT, false);
    int32_t besides = TIDE_PICTURE_PX(15) + TIDE_PICTURE_PX(6) + bytes_width;
    tide_picture_text_fit(band->label, room - besides, TIDE_PICTURE_FONT, false, label,
                          sizeof(label));
    int32_t label_width = tide_picture_text_width(label, TIDE_PICTURE_FONT, false);
    if (*x > MARGIN && *x + besides + label_width > MARGIN + room) {
        *x = MARGIN;
        *y += LEGEND_ROW;
    }
    tide_picture_add_rect(scene->drawing, &(tide_picture_shape){.x = *x,
                                                                .y = *y + TIDE_PICTURE_PX(4),
                                                                .w = TIDE_PICTURE_PX(10),
                                                                .h = TIDE_PICTURE_PX(10),
                                                                .colour = band->colour});
    tide_picture_shape text = {.x = *x + TIDE_PICTURE_PX(15),
                               .y = *y + TIDE_PICTURE_PX(13),
                               .colour = scene->theme.ink,
                               .font = TIDE_PICTURE_FONT};
    tide_picture_add_text(scene->drawing, &text, label);
    text.x += label_width + TIDE_PICTURE_PX(6);
    text.colour = scene->theme.muted;
    tide_picture_add_text(scene->drawing, &text, bytes);
    *x += besides + label_width + TIDE_PICTURE_PX(16);
}

/* The colours, with the bytes at the peak. Returns the row below. */
static int32_t add_legend(tide_picture_scene *scene, int32_t y) {
    const char *lead = scene->snapshot->n_events > 0 ? "at the peak:" : "bytes:";
    int32_t x = MARGIN;
    tide_picture_add_text(scene->drawing,
                          &(tide_picture_shape){.x = x,
                                                .y = y + TIDE_PICTURE_PX(13),
                                                .colour = scene->theme.muted,
                                                .font = TIDE_PICTURE_FONT},
                          lead);
    x += tide_picture_text_width(lead, TIDE_PICTURE_FONT, false) + TIDE_PICTURE_PX(10);
    for (size_t i = 0; i < scene->bands->n_bands; i++) {
        if (!scene->bands->bands[i].is_hidden) {
            add_entry(scene, &scene->bands->bands[i], &x, &y);
        }
    }
    return y + LEGEND_ROW;
}

/* Writes the notes from `y` on, or only counts their rows. */
static size_t add_notes(tide_picture_scene *scene, int32_t y, bool is_counting) {
    const tide_picture_shape as = {.colour = scene->theme.muted, .font = TIDE_PICTURE_FONT_NOTE};
    size_t n_rows = 0;
    for (size_t i = 0; i < scene->n_notes; i++) {
        n_rows +=
            add_rows(scene, scene->notes[i], y + (int32_t)n_rows * NOTE_ROW + TIDE_PICTURE_PX(11),
                     NOTE_ROW, &as, is_counting);
    }
    return n_rows;
}

/* ---- the whole ---- */

/* The default for a width: a plot of 2 : 5, neither too low nor too high. */
static int32_t usual_plot_height(int32_t width) {
    int32_t height = width * 2 / 5 / 10 * 10;
    return height < TIDE_PICTURE_PX(170)   ? TIDE_PICTURE_PX(170)
           : height > TIDE_PICTURE_PX(560) ? TIDE_PICTURE_PX(560)
                                           : height;
}

static tide_status place_plot(tide_picture_scene *scene, int32_t top, int32_t lanes_height,
                              tide_error *error) {
    tide_picture_drawing *drawing = scene->drawing;
    size_t n_rows = add_notes(scene, 0, true);
    int32_t below = TICK_ROW + lanes_height + (int32_t)n_rows * NOTE_ROW + MARGIN;
    scene->plot.y = top + TIDE_PICTURE_PX(8);
    if (scene->options->height == 0) {
        scene->plot.h = usual_plot_height(drawing->width);
        drawing->height = scene->plot.y + scene->plot.h + below;
    } else {
        drawing->height = TIDE_PICTURE_PX((int32_t)scene->options->height);
        scene->plot.h = drawing->height - below - scene->plot.y;
    }
    if (scene->plot.h < LEAST_PLOT) {
        return tide_fail(
            error, TIDE_INVALID,
            "--height: at this width, legend, scopes and notes leave no room for the picture: "
            "%d is the least",
            (int)(scene->plot.y + LEAST_PLOT + below) / 10);
    }
    return TIDE_OK;
}

tide_status tide_picture_lay_out(tide_picture_scene *scene, tide_error *error) {
    tide_picture_drawing *drawing = scene->drawing;
    find_capacity(scene);
    choose_lines(scene);
    note_hidden(scene);
    tide_picture_note_flaws(scene);
    int32_t lanes_height = tide_picture_lanes_height(scene);
    int32_t y = add_title(scene, MARGIN);
    y = add_legend(scene, y);
    TIDE_TRY(place_plot(scene, y, lanes_height, error));
    choose_scale(scene);
    tide_picture_draw_byte_axis(scene);
    tide_picture_draw_bands(scene);
    tide_picture_draw_place_axis(scene);
    tide_picture_draw_reserved(scene);
    tide_picture_draw_marks(scene);
    y = scene->plot.y + scene->plot.h + TICK_ROW + TIDE_PICTURE_PX(2);
    tide_picture_draw_lanes(scene, y);
    (void)add_notes(scene, y + lanes_height, false);
    return drawing->status;
}
