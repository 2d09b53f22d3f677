/* scatter.h - runs as points in an SVG file: memory against time, with the limit of the memory.
 *
 *     ms |  1          |
 *        |      2      |   3        a number for each run; a list below the plot names them
 *        +-------------|------
 *                    limit   bytes
 */
#ifndef TIDE_PICTURE_SCATTER_H
#define TIDE_PICTURE_SCATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_scatter_point {
    int64_t bytes;    /* below 0: unknown, and the point is left out */
    double ms;        /* the same */
    const char *name; /* borrowed */
    bool fits;        /* drawn full; others are drawn as rings */
} tide_scatter_point;

typedef struct tide_scatter {
    const char *title;      /* borrowed, as all pointers */
    const char *x_title;    /* "reserved" */
    const char *y_title;    /* "the card's time of a step" */
    const char *limit_name; /* "room" */
    int64_t limit_bytes;
    const tide_scatter_point *points;
    size_t n_points;
} tide_scatter;

/* Writes the file, complete or not at all. Without a point it has only axes. */
TIDE_NODISCARD tide_status tide_scatter_save(const tide_scatter *scatter, const char *path,
                                             tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
