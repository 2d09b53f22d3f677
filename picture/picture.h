/* picture.h - the timeline of a recording as a file: the live memory, in bands of one category or
 * one line of the program, over time or event number. The page draws the same
 * (viewer/src/draw/draw.js); this is for papers and for machines without a browser.
 *
 * Each column of pixels shows one instant: the instant of its span with the most bytes, the first
 * on ties. So no width loses a peak. The same recording and options produce the same bytes.
 */
#ifndef TIDE_PICTURE_PICTURE_H
#define TIDE_PICTURE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_PICTURE_MIN_WIDTH = 240,
    TIDE_PICTURE_MIN_HEIGHT = 160,
    TIDE_PICTURE_MAX_PIXELS = 8000, /* of either side */
    TIDE_PICTURE_MAX_SCALE = 8
};

#define TIDE_PICTURE_MAIN_DEVICE SIZE_MAX

typedef enum tide_picture_x {
    TIDE_PICTURE_X_USUAL = 0, /* time, or events if the recording has no clock */
    TIDE_PICTURE_X_TIME,
    TIDE_PICTURE_X_EVENT
} tide_picture_x;

/* What a band is. */
typedef enum tide_picture_by {
    TIDE_PICTURE_BY_USUAL =
        0, /* a category; a line if no block has a category, or without a history */
    TIDE_PICTURE_BY_CATEGORY,
    TIDE_PICTURE_BY_LINE /* of the program: the largest ones; the others share a band */
} tide_picture_by;

typedef enum tide_picture_format { TIDE_PICTURE_SVG = 0, TIDE_PICTURE_PNG } tide_picture_format;

/* All pointers are borrowed. */
typedef struct tide_picture_options {
    tide_picture_format format;
    tide_picture_x axis;
    tide_picture_by by;
    bool is_dark;
    bool leaves_out_scopes;    /* omit the rows of steps, phases and layers below the plot */
    size_t device;             /* index; TIDE_PICTURE_MAIN_DEVICE: the one with the highest peak */
    size_t width, height;      /* of the drawing in pixels; height 0: chosen for the width */
    size_t scale;              /* PNG: pixels of the file for each of the drawing; SVG: 1 */
    const char *title;         /* before the peak's figure; "": none */
    const char *subtitle;      /* the line below; "": none */
    const char *const *hidden; /* names of bands to omit: a category, or as in the legend */
    size_t n_hidden;
} tide_picture_options;

/* Writes the file, complete or not at all. TIDE_INVALID, TIDE_LIMIT if a size is out of range, or a
 * hidden name is unknown (the message lists the valid names). TIDE_UNSUPPORTED for a time axis if
 * the recording has no clock. */
TIDE_NODISCARD tide_status tide_picture_save(const tide_snapshot *snapshot,
                                             const tide_picture_options *options, const char *path,
                                             tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
