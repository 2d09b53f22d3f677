/* A drawing as SVG: paths of whole tenths of a pixel, text as text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture/drawing_internal.h"

enum { PIECE_BYTES = 4096 };

static void put(tide_output_file *file, const char *format, ...) TIDE_PRINTF(2, 3);

static void put(tide_output_file *file, const char *format, ...) {
    char piece[PIECE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    if (n > 0) {
        (void)tide_output_file_write(file, piece,
                                     (size_t)n < sizeof(piece) ? (size_t)n : sizeof(piece) - 1);
    }
}

/* "12", "12.3", "-.4": as short as possible. Returns `to`. */
static const char *length(int32_t tenths, char to[16]) {
    const char *sign = tenths < 0 ? "-" : "";
    int32_t size = abs(tenths);
    if (size % 10 == 0) {
        (void)snprintf(to, 16, "%s%d", sign, size / 10);
    } else if (size < 10) {
        (void)snprintf(to, 16, "%s.%d", sign, size);
    } else {
        (void)snprintf(to, 16, "%s%d.%d", sign, size / 10, size % 10);
    }
    return to;
}

static void put_escaped(tide_output_file *file, const char *text) {
    for (; text[0] != '\0'; text++) {
        const char *escaped = text[0] == '&'    ? "&amp;"
                              : text[0] == '<'  ? "&lt;"
                              : text[0] == '>'  ? "&gt;"
                              : text[0] == '"'  ? "&quot;"
                              : text[0] == '\'' ? "&#39;"
                                                : NULL;
        (void)tide_output_file_write(file, escaped != NULL ? escaped : text,
                                     escaped != NULL ? strlen(escaped) : 1);
    }
}

static void put_rect(tide_output_file *file, const tide_picture_shape *shape) {
    char x[16], y[16], w[16], h[16], r[16];
    put(file, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", length(shape->x, x),
        length(shape->y, y), length(shape->w, w), length(shape->h, h));
    if (shape->radius > 0) {
        put(file, " rx=\"%s\"", length(shape->radius, r));
    }
    put(file, " fill=\"#%06x\"/>\n", shape->colour);
}

/* The points, each relative to the one before; steps have one number only. */
static void put_points(tide_output_file *file, const tide_picture_point *points, size_t n,
                       bool is_closed) {
    char x[16], y[16];
    for (size_t i = 0; i < n; i++) {
        if (points[i].is_start) {
            put(file, "%sM%s %s", i > 0 && is_closed ? "z" : "", length(points[i].x, x),
                length(points[i].y, y));
            continue;
        }
        int32_t dx = points[i].x - points[i - 1].x;
        int32_t dy = points[i].y - points[i - 1].y;
        if (dy == 0) {
            put(file, "h%s", length(dx, x));
        } else if (dx == 0) {
            put(file, "v%s", length(dy, y));
        } else {
            put(file, "l%s %s", length(dx, x), length(dy, y));
        }
    }
}

static void put_path(tide_output_file *file, const tide_picture_drawing *drawing,
                     const tide_picture_shape *shape) {
    char width[16], dash[16], gap[16];
    const tide_picture_point *points = &drawing->points[shape->first_point];
    bool is_closed = shape->kind == TIDE_PICTURE_AREA;
    if (shape->n_points == 0) {
        return;
    }
    put(file, "<path d=\"");
    put_points(file, points, shape->n_points, is_closed);
    if (is_closed) {
        put(file, "z\" fill=\"#%06x\"/>\n", shape->colour);
        return;
    }
    put(file, "\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%s\"", shape->colour,
        length(shape->stroke, width));
    if (shape->dash > 0) {
        put(file, " stroke-dasharray=\"%s %s\"", length(shape->dash, dash),
            length(shape->dash * 2 / 3, gap));
    }
    put(file, "/>\n");
}

/* The length is stated, so a font with other widths than Helvetica's still fits its place. */
static void put_text(tide_output_file *file, const tide_picture_shape *shape) {
    static const char *const ANCHORS[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    char x[16], y[16], size[16], w[16];
    put(file, "<text x=\"%s\" y=\"%s\" font-size=\"%s\"%s%s fill=\"#%06x\"", length(shape->x, x),
        length(shape->y, y), length(shape->font, size),
        shape->is_bold ? " font-weight=\"700\"" : "", ANCHORS[shape->anchor], shape->colour);
    put(file, " textLength=\"%s\" lengthAdjust=\"spacingAndGlyphs\">", length(shape->w, w));
    put_escaped(file, shape->text);
    put(file, "</text>\n");
}

void tide_picture_write_svg(const tide_picture_drawing *drawing, tide_output_file *file) {
    char w[16], h[16];
    length(drawing->width, w);
    length(drawing->height, h);
    put(file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
        "viewBox=\"0 0 %s %s\" role=\"img\" "
        "font-family=\"Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif\">\n<title>",
        w, h, w, h);
    put_escaped(file, drawing->title);
    put(file, "</title>\n<desc>");
    put_escaped(file, drawing->content);
    put(file, "</desc>\n<rect width=\"%s\" height=\"%s\" fill=\"#%06x\"/>\n", w, h,
        drawing->background);
    for (size_t i = 0; i < drawing->n_shapes; i++) {
        const tide_picture_shape *shape = &drawing->shapes[i];
        switch (shape->kind) {
        case TIDE_PICTURE_RECT:
            put_rect(file, shape);
            break;
        case TIDE_PICTURE_AREA:
        case TIDE_PICTURE_LINE:
            put_path(file, drawing, shape);
            break;
        case TIDE_PICTURE_TEXT:
            put_text(file, shape);
            break;
        }
    }
    put(file, "</svg>\n");
}
