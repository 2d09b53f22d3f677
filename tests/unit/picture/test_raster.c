/* test_raster.c - how much of each pixel a shape covers is exact, and texts are made harmless, cut
 * and drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "picture/raster_internal.h"

enum { SIDE = 200 };

static tide_raster white(void) {
    tide_raster raster;
    assert_int_equal(tide_raster_init(&raster, SIDE, SIDE, 0xffffff, tide_hostmem_default()),
                     TIDE_OK);
    return raster;
}

static int red(const tide_raster *raster, size_t x, size_t y) {
    return raster->pixels[3 * (y * SIDE + x)];
}

static void add_box(tide_raster *raster, double x, double y, double w, double h) {
    tide_raster_add(raster, x, y, true);
    tide_raster_add(raster, x + w, y, false);
    tide_raster_add(raster, x + w, y + h, false);
    tide_raster_add(raster, x, y + h, false);
}

static void parts_of_pixels_are_shares(void **state) {
    (void)state;
    tide_raster raster = white();
    tide_raster_begin(&raster);
    add_box(&raster, 10.25, 60.5, 2.5, 10.0); /* also across the end of a strip of rows */
    tide_raster_fill(&raster, 0x000000);
    assert_int_equal(red(&raster, 10, 65), 64); /* three quarters are black */
    assert_int_equal(red(&raster, 11, 65), 0);
    assert_int_equal(red(&raster, 12, 65), 64);
    assert_int_equal(red(&raster, 13, 65), 255);
    assert_int_equal(red(&raster, 11, 60), 128);
    assert_int_equal(red(&raster, 11, 70), 128);
    assert_int_equal(red(&raster, 11, 71), 255);
    assert_int_equal(red(&raster, 10, 60), 159); /* 3/8 */
    tide_raster_fini(&raster);
}

/* A triangle of random corners has the area that its corners imply. */
static void areas_are_exact(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 200; round++) {
        double at[6];
        double sum = 0.0;
        tide_raster raster = white();
        for (int i = 0; i < 6; i++) {
            seed = seed * 1664525U + 1013904223U;
            at[i] = (double)(seed >> 8) / (double)(1U << 24) * SIDE;
        }
        tide_raster_begin(&raster);
        for (int i = 0; i < 6; i += 2) {
            tide_raster_add(&raster, at[i], at[i + 1], i == 0);
        }
        tide_raster_fill(&raster, 0x000000);
        double area = ((at[2] - at[0]) * (at[5] - at[1]) - (at[4] - at[0]) * (at[3] - at[1])) / 2.0;
        for (size_t y = 0; y < SIDE; y++) {
            for (size_t x = 0; x < SIDE; x++) {
                sum += (255.0 - red(&raster, x, y)) / 255.0;
            }
        }
        area = area < 0.0 ? -area : area;
        /* Each pixel at an edge is rounded to 1/255, by at most half of that. */
        assert_true(sum - area < 2.0 && area - sum < 2.0);
        tide_raster_fini(&raster);
    }
}

/* Parts outside the picture are clipped, and the rest is unchanged. */
static void shapes_may_lie_outside(void **state) {
    (void)state;
    tide_raster raster = white();
    tide_raster_begin(&raster);
    add_box(&raster, -50.0, -50.0, 100.0, 100.0);
    add_box(&raster, 190.0, 190.0, 100.0, 100.0);
    tide_raster_fill(&raster, 0x102030);
    assert_int_equal(red(&raster, 0, 0), 0x10);
    assert_int_equal(red(&raster, 49, 49), 0x10);
    assert_int_equal(red(&raster, 50, 49), 255);
    assert_int_equal(red(&raster, 199, 199), 0x10);
    assert_int_equal(red(&raster, 189, 199), 255);
    tide_raster_begin(&raster);
    add_box(&raster, 300.0, 10.0, 5.0, 5.0);
    add_box(&raster, 10.0, -300.0, 5.0, 5.0);
    tide_raster_fill(&raster, 0x000000);
    assert_int_equal(red(&raster, 199, 12), 255);
    tide_raster_fini(&raster);
}

/* Where strokes of one letter cross, they cover once. */
static void strokes_cover_once(void **state) {
    (void)state;
    tide_raster raster = white();
    tide_raster_begin(&raster);
    for (int i = 0; i < 3; i++) {
        tide_raster_add_stroke(&raster, (tide_raster_point){20.0, 50.5, false},
                               (tide_raster_point){80.0, 50.5, false}, 0.5);
        tide_raster_add_stroke(&raster, (tide_raster_point){80.0, 20.0, false},
                               (tide_raster_point){20.0, 90.0, false}, 8.0);
    }
    tide_raster_fill(&raster, 0x000000);
    assert_int_equal(red(&raster, 50, 54), 0);
    assert_in_range(red(&raster, 30, 50), 0, 128);
    assert_int_equal(red(&raster, 10, 50), 255);
    tide_raster_fini(&raster);
}

/* Every printable character leaves ink, within its place; a space leaves none. */
static void letters_are_drawn(void **state) {
    (void)state;
    for (char letter = ' '; letter <= '~'; letter++) {
        char text[2] = {letter, '\0'};
        tide_raster raster = white();
        tide_picture_shape shape = {
            .x = 500, .y = 1000, .font = 500, .text = text, .colour = 0x000000};
        shape.w = tide_picture_text_width(text, shape.font, false);
        tide_raster_text(&raster, &shape, 1.0);
        size_t n = 0;
        for (size_t y = 0; y < SIDE; y++) {
            for (size_t x = 0; x < SIDE; x++) {
                bool is_ink = red(&raster, x, y) < 128;
                n += is_ink;
                /* 50 pixels to the em: from 3 left of the origin to 3 right of the advance. */
                assert_false(is_ink &&
                             (x < 47 || x > 53 + (size_t)shape.w / 10 || y < 58 || y > 113));
            }
        }
        assert_true(letter == ' ' ? n == 0 : n > 10);
        tide_raster_fini(&raster);
    }
}

static void texts_are_harmless(void **state) {
    (void)state;
    tide_picture_drawing drawing;
    tide_picture_drawing_init(&drawing, tide_hostmem_default());
    assert_string_equal(tide_picture_clean(&drawing, "a\x1b[31m\tb\xff\xE2\x80\xAE"
                                                     "c"),
                        "a\xEF\xBF\xBD[31m b\xEF\xBF\xBD\xEF\xBF\xBD"
                        "c");
    assert_string_equal(tide_picture_clean(&drawing, "Gr\xC3\xB6\xC3\x9F"
                                                     "e <b>&amp;"),
                        "Gr\xC3\xB6\xC3\x9F"
                        "e <b>&amp;");
    assert_string_equal(tide_picture_clean(&drawing, ""), "");
    tide_picture_drawing_fini(&drawing);
}

static void texts_are_cut_to_their_place(void **state) {
    (void)state;
    char text[64];
    int32_t width = tide_picture_text_width("forward_and_backward (model.py:17)", 120, false);
    tide_picture_text_fit("forward_and_backward (model.py:17)", width, 120, false, text,
                          sizeof(text));
    assert_string_equal(text, "forward_and_backward (model.py:17)");
    tide_picture_text_fit("forward_and_backward (model.py:17)", width - 300, 120, false, text,
                          sizeof(text));
    assert_non_null(strstr(text, "\xE2\x80\xA6 (model.py:17)"));
    assert_true(tide_picture_text_width(text, 120, false) <= width - 300);
    tide_picture_text_fit("aaaaaaaaaaaaaaaaaaaa", 400, 120, false, text, sizeof(text));
    assert_true(tide_picture_text_width(text, 120, false) <= 400);
    assert_non_null(strstr(text, "aa\xE2\x80\xA6"));
    tide_picture_text_fit("aaaa", 10, 120, false, text, sizeof(text));
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_pixels_are_shares),
        cmocka_unit_test(areas_are_exact),
        cmocka_unit_test(shapes_may_lie_outside),
        cmocka_unit_test(strokes_cover_once),
        cmocka_unit_test(letters_are_drawn),
        cmocka_unit_test(texts_are_harmless),
        cmocka_unit_test(texts_are_cut_to_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
