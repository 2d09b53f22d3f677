/* Letters of strokes, for pictures of pixels: our own, in the widths of Helvetica's.
 *
 * A letter is a row of commands in hundredths of its size, the base line at 0 and up positive: M
 * moves, L draws a line, h and v draw a quarter of an ellipse that begins horizontally or
 * vertically. Small letters reach 46, capitals 71: at 12 pixels these heights are in the middle of
 * a row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/utf8.h"
#include "picture/raster_internal.h"

static const char *const LETTERS[] = {
    "",
    "M14 71L14 24M14 5L14 7",
    "M11 71L11 52M25 71L25 52",
    "M20 71L14 4M42 71L36 4M5 49L53 49M3 26L51 26",
    "M47 54v28 65h8 52v28 38h48 22v28 10h7 21M28 76L28 0",
    "M8 55v21 71h34 55v21 39h8 55M55 20v68 36h81 20v68 4h55 20M68 71L22 4",
    "M62 5L19 54v31 71h43 57L12 30L8 20v26 4h60 32",
    "M10 71L10 52",
    "M26 75L16 58L12 40L12 17L16 -1L26 -18",
    "M8 75L18 58L22 40L22 17L18 -1L8 -18",
    "M20 71L20 47M9 65L31 53M31 65L9 53",
    "M29 55L29 11M7 33L51 33",
    "M15 6L10 -9",
    "M6 29L27 29",
    "M14 5L14 7",
    "M24 71L4 2",
    "M7 38v28 71h49 38v28 4h7 38",
    "M12 57L30 71L30 4",
    "M8 53v27 71h47 53L43 42L8 4L49 4",
    "M8 58v26 71h46 56v24 40h49 22v26 4h7 18",
    "M38 4L38 71L5 24L51 24",
    "M46 71L14 71L10 38v27 47h48 26v26 4h7 18",
    "M46 58v29 71h8 36L8 26v28 4h48 26v28 47h8 26",
    "M6 71L49 71L21 4",
    "M10 55v28 71h46 55v28 40h10 55M7 22v28 40h49 22v28 4h7 22",
    "M10 17v26 4h48 39L48 49v28 71h8 49v28 28h48 49",
    "M14 40L14 42M14 5L14 7",
    "M14 40L14 42M15 6L10 -9",
    "M50 53L8 33L50 13",
    "M7 42L51 42M7 24L51 24",
    "M8 53L50 33L8 13",
    "M8 54v27 71h46 54L43 44L28 30L28 22M28 5L28 7",
    "M68 40v50 52h32 33v48 16h66 30L68 50M66 28v78 16h93 36v53 71h8 32v52 -14h80 -6",
    "M4 4L33 71L63 4M15 27L52 27",
    "M10 4L10 71L38 71h56 55v38 39L10 39M38 39h60 21v38 4L10 4",
    "M65 52v38 71h8 38v38 4h65 23",
    "M10 4L10 71L34 71h64 38v34 4L10 4",
    "M60 71L10 71L10 4L61 4M10 39L56 39",
    "M57 71L10 71L10 4M10 39L50 39",
    "M67 54v40 71h8 38v41 4h70 20L70 36L44 36",
    "M10 71L10 4M62 71L62 4M10 39L62 39",
    "M14 71L14 4",
    "M40 71L40 22v23 4h6 22",
    "M10 71L10 4M60 71L10 26M27 41L62 4",
    "M10 71L10 4L52 4",
    "M9 4L9 71L42 6L74 71L74 4",
    "M10 4L10 71L62 4L62 71",
    "M8 38v39 71h70 38v39 4h8 38",
    "M10 4L10 71L38 71h59 52v38 34L10 34",
    "M8 38v39 71h70 38v39 4h8 38M46 20L70 0",
    "M10 4L10 71L40 71h61 53v40 36L10 36M40 36L63 4",
    "M58 55v33 71h9 55v33 39h59 21v33 4h6 21",
    "M3 71L58 71M31 71L31 4",
    "M10 71L10 28v36 4h62 28L62 71",
    "M4 71L33 4L63 71",
    "M4 71L26 4L47 69L68 4L90 71",
    "M6 71L61 4M61 71L6 4",
    "M4 71L33 36L63 71M33 36L33 4",
    "M6 71L55 71L5 4L57 4",
    "M24 75L10 75L10 -17L24 -17",
    "M4 71L24 2",
    "M4 75L18 75L18 -17L4 -17",
    "M8 42L23 71L39 42",
    "M0 -12L55 -12",
    "M10 72L20 60",
    "M9 36v27 46h44 33L44 4M44 27L23 25h7 15v20 4h44 20",
    "M9 71L9 4M9 25v28 46h48 25v28 4h9 25",
    "M44 36v27 46h7 25v27 4h44 14",
    "M47 71L47 4M47 25v28 46h8 25v28 4h47 25",
    "M8 26L48 26v28 46h8 25v29 4h46 13",
    "M27 71L23 71h12 60L12 4M3 46L25 46",
    "M47 46L47 2v28 -17h10 -8M47 25v28 46h8 25v28 4h47 25",
    "M9 71L9 4M9 27v28 46h46 30L46 4",
    "M11 46L11 4M11 65L11 67",
    "M11 46L11 -7v1 -17M11 65L11 67",
    "M9 71L9 4M42 46L9 20M20 29L45 4",
    "M11 71L11 4",
    "M9 46L9 4M9 29v25 46h41 30L41 4M41 29v58 46h74 30L74 4",
    "M9 46L9 4M9 27v28 46h46 30L46 4",
    "M7 25v28 46h49 25v28 4h7 25",
    "M9 46L9 -17M9 25v28 46h48 25v28 4h9 25",
    "M47 46L47 -17M47 25v28 46h8 25v28 4h47 25",
    "M9 46L9 4M9 25v28 46L32 46",
    "M42 37v25 46h8 36v25 26h43 15v25 4h6 14",
    "M12 60L12 14v22 4L26 4M3 46L25 46",
    "M9 46L9 20v27 4h46 23M46 46L46 4",
    "M4 46L25 4L46 46",
    "M4 46L19 4L36 44L53 4L68 46",
    "M5 46L45 4M45 46L5 4",
    "M4 46L25 4M46 46L22 -10v11 -17L5 -17",
    "M6 46L44 46L6 4L45 4",
    "M28 75h17 64L17 40v7 29h17 18L17 -6v28 -17",
    "M13 75L13 -17",
    "M5 75h16 64L16 40v26 29h16 18L16 -6v5 -17",
    "M8 27v19 38L39 27h50 38",
};

_Static_assert(sizeof(LETTERS) / sizeof(LETTERS[0]) == '~' - ' ' + 1,
               "every printable character of ASCII has its strokes");

static const struct {
    const char *text; /* UTF-8 */
    const char *strokes;
} OTHERS[] = {
    {"\xC2\xB7", "M14 36L14 38"},
    {"\xE2\x80\xA6", "M17 5L17 7M50 5L50 7M83 5L83 7"},
    {"\xC2\xB5", "M9 46L9 -17M9 20v27 4h46 23M46 46L46 4"},
    {"\xC3\x97", "M12 52L48 14M48 52L12 14"},
    {"\xE2\x80\x93", "M3 29L57 29"},
    {"\xE2\x88\x92", "M8 33L52 33"},
};

/* The strokes of an unknown character: a box. */
#define UNKNOWN "M8 4L8 66L52 66L52 4L8 4"

enum { ARC_PIECES = 6 }; /* of a quarter of an ellipse */

#define STROKE 0.086      /* width of a stroke as a share of the font size */
#define STROKE_BOLD 0.118 /* of bold letters */
#define BOLD_SHARE 1.07   /* how much wider bold letters are, as in text.c */

static const char *strokes_of(const char *text, size_t n_bytes) {
    if (n_bytes == 1 && text[0] >= ' ' && text[0] <= '~') {
        return LETTERS[text[0] - ' '];
    }
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (strlen(OTHERS[i].text) == n_bytes && memcmp(OTHERS[i].text, text, n_bytes) == 0) {
            return OTHERS[i].strokes;
        }
    }
    return UNKNOWN;
}

/* Where a letter is drawn. */
typedef struct stroke_pen {
    tide_raster *raster;
    double x, y;         /* of its origin, in pixels */
    double size_x, size; /* pixels of a hundredth, across and up */
    double width;        /* of a stroke */
} stroke_pen;

static tide_raster_point point_at(const stroke_pen *pen, double x, double y) {
    return (tide_raster_point){pen->x + x * pen->size_x, pen->y - y * pen->size, false};
}

static void arc(const stroke_pen *pen, bool is_flat_first, const double from[2],
                const double to[2]) {
    static const double HALF_PI = 1.57079632679489661923;
    tide_raster_point last = point_at(pen, from[0], from[1]);
    for (int i = 1; i <= ARC_PIECES; i++) {
        double turn = HALF_PI * (double)i / ARC_PIECES;
        double fast = sin(turn);
        double slow = 1.0 - cos(turn);
        tide_raster_point next =
            point_at(pen, from[0] + (to[0] - from[0]) * (is_flat_first ? fast : slow),
                     from[1] + (to[1] - from[1]) * (is_flat_first ? slow : fast));
        tide_raster_add_stroke(pen->raster, last, next, pen->width);
        last = next;
    }
}

static void letter(const stroke_pen *pen, const char *strokes) {
    double at[2] = {0.0, 0.0};
    while (strokes[0] != '\0') {
        char command = strokes[0];
        char *rest = NULL;
        double to[2];
        to[0] = (double)strtol(strokes + 1, &rest, 10);
        to[1] = (double)strtol(rest, &rest, 10);
        if (command == 'L') {
            tide_raster_add_stroke(pen->raster, point_at(pen, at[0], at[1]),
                                   point_at(pen, to[0], to[1]), pen->width);
        } else if (command != 'M') {
            arc(pen, command == 'h', at, to);
        }
        memcpy(at, to, sizeof(at));
        strokes = rest;
    }
}

void tide_raster_text(tide_raster *raster, const tide_picture_shape *text, double scale) {
    double size = (double)text->font / 10.0 * scale;
    double left = (double)text->x / 10.0 * scale;
    double width = (double)text->w / 10.0 * scale;
    left -= text->anchor == TIDE_PICTURE_CENTRE  ? width / 2.0
            : text->anchor == TIDE_PICTURE_RIGHT ? width
                                                 : 0.0;
    stroke_pen pen = {.raster = raster,
                      .x = floor(left + 0.5),
                      .y = floor((double)text->y / 10.0 * scale + 0.5),
                      .size = size / 100.0,
                      .size_x = size / 100.0 * (text->is_bold ? BOLD_SHARE : 1.0),
                      .width = size * (text->is_bold ? STROKE_BOLD : STROKE)};
    size_t n_bytes = strlen(text->text);
    char one[8];
    for (size_t at = 0; at < n_bytes;) {
        size_t n = tide_utf8_length((const unsigned char *)text->text + at, n_bytes - at);
        n = n > 0 ? n : 1;
        memcpy(one, text->text + at, n);
        one[n] = '\0';
        tide_raster_begin(raster);
        letter(&pen, strokes_of(one, n));
        tide_raster_fill(raster, text->colour);
        /* In thousandths of the size, so rounding does not accumulate. */
        pen.x += (double)tide_picture_text_width(one, 1000, false) / 10.0 * pen.size_x;
        at += n;
    }
}
