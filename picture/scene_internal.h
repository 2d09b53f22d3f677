/* scene_internal.h - a picture while it is laid out: its numbers, its measures, and the occupied
 * places. Lengths are tenths of a pixel, as in a drawing.
 */
#ifndef TIDE_PICTURE_SCENE_INTERNAL_H
#define TIDE_PICTURE_SCENE_INTERNAL_H

#include "picture/drawing_internal.h"
#include "picture/series_internal.h"

/* Sizes of letters. */
#define TIDE_PICTURE_FONT TIDE_PICTURE_PX(12)
#define TIDE_PICTURE_FONT_TITLE TIDE_PICTURE_PX(15)
#define TIDE_PICTURE_FONT_NOTE TIDE_PICTURE_PX(11)

enum { TIDE_PICTURE_MAX_BOXES = 16, TIDE_PICTURE_MAX_NOTES = 16, TIDE_PICTURE_TEXT_BYTES = 512 };

typedef struct tide_picture_theme {
    uint32_t background, ink, muted, grid, danger, lane;
} tide_picture_theme;

typedef struct tide_picture_box {
    int32_t x, y, w, h;
} tide_picture_box;

typedef struct tide_picture_scene {
    const tide_picture_options *options; /* borrowed, like all pointers here */
    const tide_snapshot *snapshot;
    const tide_lifetimes *lifetimes;
    size_t device; /* index */
    char subtitle[TIDE_PICTURE_TEXT_BYTES];
    const tide_picture_axis *axis;
    tide_picture_bands *bands;
    const tide_picture_columns *columns;
    tide_picture_drawing *drawing;
    tide_picture_theme theme;
    tide_picture_box plot;
    int64_t capacity_bytes;              /* memory limit or the device's; -1: none */
    const char *capacity_words;          /* its description */
    bool draws_capacity, draws_reserved; /* the line fits into the picture */
    int64_t top_bytes;                   /* the highest that is drawn */
    double length_per_byte;
    tide_picture_box taken[TIDE_PICTURE_MAX_BOXES]; /* by labels */
    size_t n_taken;
    char notes[TIDE_PICTURE_MAX_NOTES][TIDE_PICTURE_TEXT_BYTES];
    size_t n_notes;
} tide_picture_scene;

/* The row of some bytes in the plot. */
int32_t tide_picture_row(const tide_picture_scene *scene, int64_t n_bytes);
/* A place on the axis, events or ns, in the plot; and the place of an event. */
int32_t tide_picture_place_of(const tide_picture_scene *scene, int64_t at);
int32_t tide_picture_place(const tide_picture_scene *scene, size_t event);

void tide_picture_note(tide_picture_scene *scene, const char *format, ...) TIDE_PRINTF(2, 3);

/* Adds notes on missing or possibly wrong parts of the recording (notes.c). */
void tide_picture_note_flaws(tide_picture_scene *scene);
/* "peak", or the other word for it if events were lost. */
const char *tide_picture_peak_word(const tide_picture_scene *scene);

/* Takes the first of the boxes that overlaps no occupied one; false if all do. */
bool tide_picture_take(tide_picture_scene *scene, const tide_picture_box *choices, size_t n,
                       tide_picture_box *ret_box);

/* A text in a pill of this box. */
void tide_picture_pill(tide_picture_scene *scene, const tide_picture_box *box, const char *text,
                       uint32_t colour);
int32_t tide_picture_pill_width(const char *text);

/* Parts of the drawing (axes.c, marks.c). */
void tide_picture_draw_byte_axis(tide_picture_scene *scene);
void tide_picture_draw_place_axis(tide_picture_scene *scene);
int32_t tide_picture_byte_axis_width(const tide_picture_scene *scene);
void tide_picture_draw_bands(tide_picture_scene *scene);
void tide_picture_draw_reserved(tide_picture_scene *scene);
void tide_picture_draw_marks(tide_picture_scene *scene);

/* Rows of scopes below the plot (lanes.c), and their height; the notes may then mention omitted
 * rows. */
int32_t tide_picture_lanes_height(tide_picture_scene *scene);
void tide_picture_draw_lanes(tide_picture_scene *scene, int32_t y);

/* Lays the whole out. TIDE_INVALID if the height leaves no room for the plot. */
TIDE_NODISCARD tide_status tide_picture_lay_out(tide_picture_scene *scene, tide_error *error);

#endif
