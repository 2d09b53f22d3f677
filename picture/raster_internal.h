/* raster_internal.h - a picture of pixels, and shapes filled into it. The share of a pixel that a
 * shape covers is exact.
 */
#ifndef TIDE_PICTURE_RASTER_INTERNAL_H
#define TIDE_PICTURE_RASTER_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "picture/drawing_internal.h"

/* A corner of a shape in pixels. */
typedef struct tide_raster_point {
    double x, y;
    bool is_start; /* of a subpath, which closes itself */
} tide_raster_point;

typedef struct tide_raster {
    const tide_hostmem *mem;   /* borrowed */
    size_t width, height;      /* pixels */
    uint8_t *pixels;           /* owned; red, green, blue by row */
    float *cover;              /* owned; of some rows while a shape is filled */
    tide_raster_point *points; /* owned; of the current shape */
    size_t n_points, capacity;
    tide_status status; /* TIDE_NO_MEMORY: something is missing */
} tide_raster;

TIDE_NODISCARD tide_status tide_raster_init(tide_raster *raster, size_t width, size_t height,
                                            uint32_t background, const tide_hostmem *mem);
void tide_raster_fini(tide_raster *raster);

/* The current shape: begin, add its corners, fill it. Overlapping subpaths of one direction are
 * covered once. */
void tide_raster_begin(tide_raster *raster);
void tide_raster_add(tide_raster *raster, double x, double y, bool is_start);
void tide_raster_fill(tide_raster *raster, uint32_t colour);

/* Adds a straight stroke with round ends. */
void tide_raster_add_stroke(tide_raster *raster, tide_raster_point from, tide_raster_point to,
                            double width);

/* Fills a text, in letters of strokes (font.c). */
void tide_raster_text(tide_raster *raster, const tide_picture_shape *text, double scale);

#endif
