/* A drawing as PNG: 8 bits each of red, green and blue, compressed by zlib. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "picture/raster_internal.h"

enum { CHUNK_BYTES = 1 << 16, N_FILTERS = 3, CORNER_PIECES = 8 };

#define DASH_AND_GAP (5.0 / 3.0) /* of a dash's length */

/* ---- shapes as pixels ---- */

static double pixels(int32_t tenths, double scale) {
    return (double)tenths / 10.0 * scale;
}

/* A quarter of a circle around (x, y), from `turn` quarters of a turn on. */
static void add_corner(tide_raster *raster, double x, double y, double radius, int turn) {
    static const double HALF_PI = 1.57079632679489661923;
    for (int i = 0; i <= CORNER_PIECES; i++) {
        double angle = HALF_PI * ((double)turn + (double)i / CORNER_PIECES);
        tide_raster_add(raster, x + cos(angle) * radius, y + sin(angle) * radius,
                        turn == 0 && i == 0);
    }
}

static void draw_rect(tide_raster *raster, const tide_picture_shape *shape, double scale) {
    double left = pixels(shape->x, scale);
    double top = pixels(shape->y, scale);
    double right = pixels(shape->x + shape->w, scale);
    double bottom = pixels(shape->y + shape->h, scale);
    double radius = pixels(shape->radius, scale);
    tide_raster_begin(raster);
    if (shape->radius > 0) {
        add_corner(raster, right - radius, bottom - radius, radius, 0);
        add_corner(raster, left + radius, bottom - radius, radius, 1);
        add_corner(raster, left + radius, top + radius, radius, 2);
        add_corner(raster, right - radius, top + radius, radius, 3);
    } else {
        tide_raster_add(raster, left, top, true);
        tide_raster_add(raster, right, top, false);
        tide_raster_add(raster, right, bottom, false);
        tide_raster_add(raster, left, bottom, false);
    }
    tide_raster_fill(raster, shape->colour);
}

/* A stroke from point to point; dashes, if any, restart at each. */
static void draw_line(tide_raster *raster, const tide_picture_drawing *drawing,
                      const tide_picture_shape *shape, double scale) {
    double width = pixels(shape->stroke, scale);
    tide_raster_begin(raster);
    for (size_t i = 1; i < shape->n_points; i++) {
        const tide_picture_point *a = &drawing->points[shape->first_point + i - 1];
        const tide_picture_point *b = a + 1;
        double dx = (double)(b->x - a->x);
        double dy = (double)(b->y - a->y);
        double n = sqrt(dx * dx + dy * dy);
        double dash = shape->dash > 0 ? (double)shape->dash : n;
        size_t n_dashes = shape->dash > 0 ? (size_t)(n / (dash * DASH_AND_GAP)) + 1 : 1;
        double x = n > 0.0 ? dx / n : 0.0;
        double y = n > 0.0 ? dy / n : 0.0;
        for (size_t k = 0; k < n_dashes; k++) {
            double at = (double)k * dash * DASH_AND_GAP;
            double end = at + dash < n ? at + dash : n;
            tide_raster_point from = {((double)a->x + x * at) / 10.0 * scale,
                                      ((double)a->y + y * at) / 10.0 * scale, false};
            tide_raster_point to = {((double)a->x + x * end) / 10.0 * scale,
                                    ((double)a->y + y * end) / 10.0 * scale, false};
            tide_raster_add_stroke(raster, from, to, width);
        }
    }
    tide_raster_fill(raster, shape->colour);
}

static void draw_area(tide_raster *raster, const tide_picture_drawing *drawing,
                      const tide_picture_shape *shape, double scale) {
    tide_raster_begin(raster);
    for (size_t i = 0; i < shape->n_points; i++) {
        const tide_picture_point *point = &drawing->points[shape->first_point + i];
        tide_raster_add(raster, pixels(point->x, scale), pixels(point->y, scale), point->is_start);
    }
    tide_raster_fill(raster, shape->colour);
}

static void draw_shapes(tide_raster *raster, const tide_picture_drawing *drawing, double scale) {
    for (size_t i = 0; i < drawing->n_shapes; i++) {
        const tide_picture_shape *shape = &drawing->shapes[i];
        switch (shape->kind) {
        case TIDE_PICTURE_RECT:
            draw_rect(raster, shape, scale);
            break;
        case TIDE_PICTURE_AREA:
            draw_area(raster, drawing, shape, scale);
            break;
        case TIDE_PICTURE_LINE:
            draw_line(raster, drawing, shape, scale);
            break;
        case TIDE_PICTURE_TEXT:
            tide_raster_text(raster, shape, scale);
            break;
        }
    }
}

/* ---- the file ---- */

static void put_u32(uint8_t *to, uint32_t value) {
    to[0] = (uint8_t)(value >> 24);
    to[1] = (uint8_t)(value >> 16);
    to[2] = (uint8_t)(value >> 8);
    to[3] = (uint8_t)value;
}

static void put_chunk(tide_output_file *file, const char *type, const uint8_t *bytes, size_t n) {
    uint8_t head[8];
    uint8_t sum[4];
    put_u32(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    uLong crc = crc32(crc32(0, NULL, 0), head + 4, 4);
    crc = n > 0 ? crc32(crc, bytes, (uInt)n) : crc;
    put_u32(sum, (uint32_t)crc);
    (void)tide_output_file_write(file, head, sizeof(head));
    (void)tide_output_file_write(file, bytes, n);
    (void)tide_output_file_write(file, sum, sizeof(sum));
}

/* The row by one filter of PNG: 0 as it is, 1 less the pixel before, 2 less the row above. */
static long filter(const uint8_t *row, const uint8_t *above, size_t n, int kind, uint8_t *to) {
    long sum = 0;
    to[0] = (uint8_t)kind;
    for (size_t i = 0; i < n; i++) {
        uint8_t guess = kind == 1   ? (i >= 3 ? row[i - 3] : 0)
                        : kind == 2 ? (above != NULL ? above[i] : 0)
                                    : 0;
        to[i + 1] = (uint8_t)(row[i] - guess);
        sum += abs((int8_t)to[i + 1]);
    }
    return sum;
}

/* State of the compression of rows. */
typedef struct row_packer {
    z_stream stream;
    uint8_t out[CHUNK_BYTES];
    tide_output_file *file;
} row_packer;

static void pack(row_packer *packer, uint8_t *bytes, size_t n, int flush) {
    packer->stream.next_in = bytes;
    packer->stream.avail_in = (uInt)n;
    do {
        packer->stream.next_out = packer->out;
        packer->stream.avail_out = CHUNK_BYTES;
        (void)deflate(&packer->stream, flush);
        size_t n_out = CHUNK_BYTES - packer->stream.avail_out;
        if (n_out > 0) {
            put_chunk(packer->file, "IDAT", packer->out, n_out);
        }
    } while (packer->stream.avail_out == 0);
}

/* Each row by the filter that leaves the smallest numbers. */
static void pack_rows(row_packer *packer, const tide_raster *raster, uint8_t *rows[N_FILTERS]) {
    size_t n = raster->width * 3;
    for (size_t y = 0; y < raster->height; y++) {
        const uint8_t *row = raster->pixels + y * n;
        int best = 0;
        long least = 0;
        for (int kind = 0; kind < N_FILTERS; kind++) {
            long sum = filter(row, y > 0 ? row - n : NULL, n, kind, rows[kind]);
            if (kind == 0 || sum < least) {
                best = kind;
                least = sum;
            }
        }
        pack(packer, rows[best], n + 1, y + 1 == raster->height ? Z_FINISH : Z_NO_FLUSH);
    }
}

static tide_status put_pixels(const tide_raster *raster, tide_output_file *file) {
    const tide_hostmem *mem = raster->mem;
    size_t n = raster->width * 3 + 1;
    tide_status status = TIDE_NO_MEMORY;
    row_packer *packer = tide_hostmem_zeroed(mem, 1, sizeof(*packer));
    uint8_t *rows = tide_hostmem_zeroed(mem, N_FILTERS, n);
    if (packer != NULL && rows != NULL &&
        deflateInit(&packer->stream, Z_BEST_COMPRESSION) == Z_OK) {
        packer->file = file;
        pack_rows(packer, raster, (uint8_t *[]){rows, rows + n, rows + 2 * n});
        (void)deflateEnd(&packer->stream);
        status = TIDE_OK;
    }
    mem->release(mem->ctx, rows);
    mem->release(mem->ctx, packer);
    return status;
}

tide_status tide_picture_write_png(const tide_picture_drawing *drawing, size_t scale,
                                   const tide_hostmem *mem, tide_output_file *file) {
    static const uint8_t SIGNATURE[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    uint8_t header[13] = {0};
    tide_raster raster;
    size_t width = (size_t)(drawing->width / 10) * scale;
    size_t height = (size_t)((drawing->height + 9) / 10) * scale;
    TIDE_TRY(tide_raster_init(&raster, width, height, drawing->background, mem));
    draw_shapes(&raster, drawing, (double)scale);
    tide_status status = raster.status;
    if (status == TIDE_OK) {
        put_u32(header, (uint32_t)width);
        put_u32(header + 4, (uint32_t)height);
        header[8] = 8; /* bits */
        header[9] = 2; /* red, green, blue */
        (void)tide_output_file_write(file, SIGNATURE, sizeof(SIGNATURE));
        put_chunk(file, "IHDR", header, sizeof(header));
        status = put_pixels(&raster, file);
        put_chunk(file, "IEND", NULL, 0);
    }
    tide_raster_fini(&raster);
    return status;
}
