/* drawing_internal.h - a drawing as a list of shapes, bottom first. The writers know nothing else,
 * so both files show the same picture.
 *
 * Lengths are whole tenths of a pixel, from the left and top edges. A drawing without memory for a
 * shape stores that in its status, which needs to be checked only at the end.
 */
#ifndef TIDE_PICTURE_DRAWING_INTERNAL_H
#define TIDE_PICTURE_DRAWING_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/files/output_file.h"
#include "common/status.h"

#define TIDE_PICTURE_PX(n) ((int32_t)((n)*10)) /* pixels as a length */

typedef enum tide_picture_shape_kind {
    TIDE_PICTURE_RECT = 0, /* filled, perhaps with round corners */
    TIDE_PICTURE_AREA,     /* filled; each subpath is closed and does not cross itself */
    TIDE_PICTURE_LINE,     /* a stroke through the points */
    TIDE_PICTURE_TEXT
} tide_picture_shape_kind;

typedef enum tide_picture_anchor {
    TIDE_PICTURE_LEFT = 0,
    TIDE_PICTURE_CENTRE,
    TIDE_PICTURE_RIGHT
} tide_picture_anchor;

typedef struct tide_picture_point {
    int32_t x, y;
    bool is_start; /* of a subpath */
} tide_picture_point;

typedef struct tide_picture_shape {
    tide_picture_shape_kind kind;
    uint32_t colour;            /* 0xRRGGBB */
    int32_t x, y;               /* rectangle: its corner; text: its anchor on the base line */
    int32_t w, h;               /* rectangle; text: w is its width */
    int32_t radius;             /* rectangle: of its corners */
    int32_t stroke;             /* line: its width */
    int32_t dash;               /* line: length of dashes, with gaps of 2/3 of it; 0: none */
    size_t first_point;         /* in the drawing's points */
    size_t n_points;            /* of an area or a line */
    const char *text;           /* valid UTF-8 without control characters, in the drawing's arena */
    tide_picture_anchor anchor; /* text */
    int32_t font;               /* text: its size */
    bool is_bold;               /* text */
} tide_picture_shape;

typedef struct tide_picture_drawing {
    tide_arena arena;           /* texts */
    tide_picture_shape *shapes; /* owned */
    size_t n_shapes, shapes_capacity;
    tide_picture_point *points; /* owned */
    size_t n_points, points_capacity;
    int32_t width, height;
    uint32_t background;
    const char *title;   /* of the whole drawing, clean like a shape's text */
    const char *content; /* a one-sentence description of the picture */
    tide_status status;  /* TIDE_NO_MEMORY: something is missing */
} tide_picture_drawing;

void tide_picture_drawing_init(tide_picture_drawing *drawing, const tide_hostmem *mem);
void tide_picture_drawing_fini(tide_picture_drawing *drawing);

void tide_picture_add_rect(tide_picture_drawing *drawing, const tide_picture_shape *rect);
/* Begins an area or a line; its points follow. */
void tide_picture_add_path(tide_picture_drawing *drawing, const tide_picture_shape *path);
void tide_picture_add_point(tide_picture_drawing *drawing, int32_t x, int32_t y, bool is_start);
/* The text is copied, and characters that a reader or a screen could interpret as commands are
 * replaced. */
void tide_picture_add_text(tide_picture_drawing *drawing, const tide_picture_shape *text,
                           const char *words);

/* A clean copy of a text; NULL without memory, which is noted. */
const char *tide_picture_clean(tide_picture_drawing *drawing, const char *text);

/* The width of a text: that of Helvetica and similar fonts. */
int32_t tide_picture_text_width(const char *text, int32_t font, bool is_bold);

/* Cuts a text to a width, "…" at its end; a place in brackets at the end stays: "forwa… (a.py:1)".
 * `room` bytes at `to`. */
void tide_picture_text_fit(const char *text, int32_t width, int32_t font, bool is_bold, char *to,
                           size_t room);

/* Writers; a failed write is remembered by the file. */
void tide_picture_write_svg(const tide_picture_drawing *drawing, tide_output_file *file);
TIDE_NODISCARD tide_status tide_picture_write_png(const tide_picture_drawing *drawing, size_t scale,
                                                  const tide_hostmem *mem, tide_output_file *file);

#endif
