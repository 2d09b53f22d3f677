/* Fills shapes. Each edge adds, to the pixels that it crosses, the part of them right of it; the
 * sums along a row are then how much of each pixel is covered. */
#include "picture/raster_internal.h"

#include <math.h>
#include <string.h>

enum { STRIP_ROWS = 64 }; /* filled at a time, to keep the memory small */

tide_status tide_raster_init(tide_raster *raster, size_t width, size_t height, uint32_t background,
                             const tide_hostmem *mem) {
    *raster = (tide_raster){.mem = mem, .width = width, .height = height};
    raster->pixels = tide_hostmem_zeroed(mem, width * height, 3);
    raster->cover = tide_hostmem_zeroed(mem, (width + 2) * STRIP_ROWS, sizeof(*raster->cover));
    if (raster->pixels == NULL || raster->cover == NULL) {
        tide_raster_fini(raster);
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < width * height; i++) {
        raster->pixels[3 * i] = (uint8_t)(background >> 16);
        raster->pixels[3 * i + 1] = (uint8_t)(background >> 8);
        raster->pixels[3 * i + 2] = (uint8_t)background;
    }
    return TIDE_OK;
}

void tide_raster_fini(tide_raster *raster) {
    if (raster->mem == NULL) {
        return;
    }
    raster->mem->release(raster->mem->ctx, raster->pixels);
    raster->mem->release(raster->mem->ctx, raster->cover);
    raster->mem->release(raster->mem->ctx, raster->points);
    *raster = (tide_raster){.mem = NULL};
}

void tide_raster_begin(tide_raster *raster) {
    raster->n_points = 0;
}

void tide_raster_add(tide_raster *raster, double x, double y, bool is_start) {
    void *grown = tide_hostmem_grow(raster->mem, raster->points, &raster->capacity,
                                    raster->n_points + 1, sizeof(*raster->points));
    if (grown == NULL) {
        raster->status = TIDE_NO_MEMORY;
        return;
    }
    raster->points = grown;
    raster->points[raster->n_points++] = (tide_raster_point){x, y, is_start};
}

/* ---- one edge ---- */

/* Adds the area right of a piece of an edge within one row. `height` is signed by the edge's
 * direction. */
static void cover_row(float *row, double x_from, double x_to, double height) {
    double low = x_from < x_to ? x_from : x_to;
    double high = x_from < x_to ? x_to : x_from;
    size_t first = (size_t)low;
    if (high <= (double)first + 1.0) {
        double left = (low + high) / 2.0 - (double)first; /* of the first pixel */
        row[first] += (float)(height * (1.0 - left));
        row[first + 1] += (float)(height * left);
        return;
    }
    /* The area of the row right of the edge, up to the right side of each pixel; the pixel gets the
     * difference to the previous pixel. */
    double slope = height / (high - low);
    double before = 0.0;
    for (size_t x = first; (double)x < high; x++) {
        double right = (double)x + 1.0;
        double from = low > (double)x ? low : (double)x;
        double to = high < right ? high : right;
        /* The edge crosses this pixel from `from` to `to`; beyond `to` all of it is covered. */
        double crossed = slope * (to - from);
        double area = before + crossed * ((right - to) + (to - from) / 2.0);
        double whole = before + crossed;
        row[x] += (float)(area - before);
        row[x + 1] += (float)(whole - area);
        before = whole;
    }
}

static double within(double x, double most) {
    return x < 0.0 ? 0.0 : x > most ? most : x;
}

/* The part of an edge in the rows of the strip. */
static void cover_edge(tide_raster *raster, tide_raster_point a, tide_raster_point b, size_t strip,
                       size_t n_rows) {
    double sign = a.y < b.y ? 1.0 : -1.0;
    tide_raster_point top = a.y < b.y ? a : b;
    tide_raster_point bottom = a.y < b.y ? b : a;
    double first = (double)strip;
    double end = first + (double)n_rows;
    double most = (double)raster->width;
    if (top.y >= end || bottom.y <= first || top.y >= bottom.y) {
        return;
    }
    double slope = (bottom.x - top.x) / (bottom.y - top.y);
    double y = top.y > first ? top.y : first;
    double last = bottom.y < end ? bottom.y : end;
    while (y < last) {
        double next = floor(y) + 1.0 < last ? floor(y) + 1.0 : last;
        float *row = raster->cover + ((size_t)y - strip) * (raster->width + 2);
        cover_row(row, within(top.x + (y - top.y) * slope, most),
                  within(top.x + (next - top.y) * slope, most), (next - y) * sign);
        y = next;
    }
}

/* ---- a shape ---- */

static uint8_t mixed(uint8_t old, uint8_t new, double share) {
    return (uint8_t)lround((double)old + ((double)new - (double)old) * share);
}

static void paint_strip(tide_raster *raster, size_t strip, size_t n_rows, uint32_t colour) {
    for (size_t y = 0; y < n_rows; y++) {
        float *row = raster->cover + y * (raster->width + 2);
        uint8_t *pixel = raster->pixels + (strip + y) * raster->width * 3;
        double sum = 0.0;
        for (size_t x = 0; x < raster->width; x++, pixel += 3) {
            sum += (double)row[x];
            double share = fabs(sum) < 1.0 ? fabs(sum) : 1.0;
            if (share > 1.0 / 512.0) {
                pixel[0] = mixed(pixel[0], (uint8_t)(colour >> 16), share);
                pixel[1] = mixed(pixel[1], (uint8_t)(colour >> 8), share);
                pixel[2] = mixed(pixel[2], (uint8_t)colour, share);
            }
        }
        memset(row, 0, (raster->width + 2) * sizeof(*row));
    }
}

static void cover_strip(tide_raster *raster, size_t strip, size_t n_rows) {
    const tide_raster_point *points = raster->points;
    size_t start = 0;
    for (size_t i = 0; i < raster->n_points; i++) {
        start = points[i].is_start ? i : start;
        bool is_last = i + 1 == raster->n_points || points[i + 1].is_start;
        cover_edge(raster, points[i], is_last ? points[start] : points[i + 1], strip, n_rows);
    }
}

void tide_raster_fill(tide_raster *raster, uint32_t colour) {
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < raster->n_points; i++) {
        low = raster->points[i].y < low ? raster->points[i].y : low;
        high = raster->points[i].y > high ? raster->points[i].y : high;
    }
    if (raster->n_points < 3 || high <= 0.0 || low >= (double)raster->height) {
        return;
    }
    size_t from = low > 0.0 ? (size_t)low : 0;
    size_t to = high < (double)raster->height ? (size_t)ceil(high) : raster->height;
    for (size_t strip = from; strip < to; strip += STRIP_ROWS) {
        size_t n_rows = to - strip < STRIP_ROWS ? to - strip : STRIP_ROWS;
        cover_strip(raster, strip, n_rows);
        paint_strip(raster, strip, n_rows, colour);
    }
}

/* ---- strokes ---- */

enum { CORNERS = 8 }; /* of a round end, half of the circle */

void tide_raster_add_stroke(tide_raster *raster, tide_raster_point from, tide_raster_point to,
                            double width) {
    static const double PI = 3.14159265358979323846;
    double angle = atan2(to.y - from.y, to.x - from.x);
    for (int end = 0; end < 2; end++) {
        tide_raster_point at = end == 0 ? to : from;
        for (int i = 0; i <= CORNERS; i++) {
            double turn = angle + PI * ((double)i / CORNERS - 0.5 + (double)end);
            tide_raster_add(raster, at.x + cos(turn) * width / 2.0, at.y + sin(turn) * width / 2.0,
                            end == 0 && i == 0);
        }
    }
}
