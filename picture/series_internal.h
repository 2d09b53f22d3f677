/* series_internal.h - the numbers of a picture: bands, the curve of their sum, and columns.
 *
 * State s of a recording is the state after its first s events; there is one more state than
 * events.
 */
#ifndef TIDE_PICTURE_SERIES_INTERNAL_H
#define TIDE_PICTURE_SERIES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "picture/picture.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

enum {
    TIDE_PICTURE_MAX_BANDS = TIDE_MAX_CATEGORIES,
    TIDE_PICTURE_MAX_OOMS = 64 /* failures that are marked */
};

typedef struct tide_picture_band {
    const char *key;   /* a category's word, or the label; in the arena or of the snapshot */
    const char *label; /* its name in the legend */
    uint32_t colour;   /* 0xRRGGBB */
    bool is_hidden;
    int64_t peak_bytes; /* at the peak of the shown bands */
} tide_picture_band;

typedef struct tide_picture_bands {
    tide_arena arena;                                /* holds the data of the pointers below */
    tide_picture_band bands[TIDE_PICTURE_MAX_BANDS]; /* bottom first */
    size_t n_bands;
    const uint8_t *of_lifetime; /* the band of each lifetime; undefined for other devices */
    bool is_by_line;
} tide_picture_bands;

/* Chooses the bands of a device; nothing is hidden yet. The caller finishes them. */
TIDE_NODISCARD tide_status tide_picture_bands_init(tide_picture_bands *bands,
                                                   const tide_snapshot *snapshot,
                                                   const tide_lifetimes *lifetimes, size_t device,
                                                   tide_picture_by by);
void tide_picture_bands_fini(tide_picture_bands *bands);

/* Hides the bands of these names. TIDE_INVALID if a band does not exist, or none would remain. */
TIDE_NODISCARD tide_status tide_picture_bands_hide(tide_picture_bands *bands,
                                                   const char *const *names, size_t n_names,
                                                   tide_error *error);

/* Kinds of blocks by line of the program, which become bands (lines.c). */
TIDE_NODISCARD tide_status tide_picture_bands_by_line(tide_picture_bands *bands,
                                                      const tide_snapshot *snapshot,
                                                      const tide_lifetimes *lifetimes,
                                                      size_t device);

/* The colour of the n-th largest group, and of a category (colours.c): those of the page. */
uint32_t tide_picture_colour_ranked(size_t rank);
uint32_t tide_picture_colour_category(const char *name);
#define TIDE_PICTURE_NO_COLOUR 0x696969U

/* Whether the block is ever part of the allocated bytes of the device. */
static inline bool tide_picture_counts(const tide_lifetime *lifetime, size_t device) {
    return lifetime->device == device && lifetime->freed > lifetime->born;
}

/* The axis: the places of events, and where it begins and ends. */
typedef struct tide_picture_axis {
    const tide_snapshot *snapshot; /* borrowed */
    bool is_time;
    int64_t begin, end; /* events, or ns; begin < end */
} tide_picture_axis;

/* TIDE_UNSUPPORTED if there is no clock. */
TIDE_NODISCARD tide_status tide_picture_axis_init(tide_picture_axis *axis,
                                                  const tide_snapshot *snapshot, size_t device,
                                                  tide_picture_x kind, tide_error *error);
/* The place of an event. */
int64_t tide_picture_axis_place(const tide_picture_axis *axis, size_t event);

/* An allocation that failed. */
typedef struct tide_picture_oom {
    uint32_t event;
    int64_t total_bytes;     /* of the shown bands at that time */
    int64_t requested_bytes; /* requested bytes */
} tide_picture_oom;

/* The picture's numbers, a column for each pixel of the plot. */
typedef struct tide_picture_columns {
    const tide_hostmem *mem; /* borrowed */
    size_t n;                /* columns */
    size_t n_bands;
    uint32_t *states;  /* n; owned, like the others: the state that the column shows */
    int64_t *bytes;    /* n times n_bands: of each band in that state; 0 for hidden ones */
    int64_t *totals;   /* n: their sum */
    int64_t *reserved; /* n: the most reserved bytes of the span */
    uint32_t peak_state;
    size_t peak_column; /* the first that shows it */
    int64_t peak_bytes; /* of the shown bands */
    int64_t most_reserved;
    tide_picture_oom ooms[TIDE_PICTURE_MAX_OOMS]; /* the first ones */
    size_t n_ooms;                                /* in the recording; may be more than are kept */
} tide_picture_columns;

/* Also sets the bands' bytes at the peak. The caller finishes the columns. */
TIDE_NODISCARD tide_status tide_picture_columns_init(tide_picture_columns *columns,
                                                     const tide_picture_axis *axis,
                                                     const tide_lifetimes *lifetimes, size_t device,
                                                     tide_picture_bands *bands, size_t n_columns);
void tide_picture_columns_fini(tide_picture_columns *columns);

#endif
