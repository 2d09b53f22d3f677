/* test_bands.c - which bands a picture has, in which order and colours, and which are hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "picture/series_internal.h"
#include "support/made_snapshot.h"

enum { N_LINES = 20 };

/* One block of each of N_LINES lines, the k-th of (k + 1) * 512 bytes; the last line's block is
 * freed immediately, and one more block has no call stack. */
static tide_snapshot *snapshot_of_lines(void) {
    static char names[N_LINES + 1][32];
    static const char *strings[N_LINES + 1];
    static tide_frame_row frames[N_LINES];
    static tide_stack_row stacks[N_LINES];
    static tide_event events[N_LINES + 2];
    static made_tables tables = {.n_devices = 1};
    (void)snprintf(names[N_LINES], sizeof(names[0]), "/home/me/train.py");
    strings[N_LINES] = names[N_LINES];
    for (uint32_t k = 0; k < N_LINES; k++) {
        (void)snprintf(names[k], sizeof(names[k]), "f%u", k);
        strings[k] = names[k];
        frames[k] = (tide_frame_row){.function = k, .file = N_LINES, .line = (int32_t)k + 1};
        stacks[k] = (tide_stack_row){.parent = TIDE_NONE, .frame = k};
        events[k] =
            made_event(TIDE_ACTION_ALLOC, 512 + 65536 * (uint64_t)k, 512 * (k + 1), 512 * (k + 1));
        events[k].stack = k;
    }
    events[N_LINES] = events[N_LINES - 1];
    events[N_LINES].action = TIDE_ACTION_FREE;
    events[N_LINES + 1] = made_event(TIDE_ACTION_ALLOC, 1U << 30, 1 << 20, 1 << 20);
    tables.strings = strings;
    tables.n_strings = N_LINES + 1;
    tables.frames = frames;
    tables.n_frames = N_LINES;
    tables.stacks = stacks;
    tables.n_stacks = N_LINES;
    return made_snapshot(NULL, &tables, events, N_LINES + 2);
}

static void the_largest_lines_have_bands(void **state) {
    (void)state;
    tide_snapshot *snapshot = snapshot_of_lines();
    tide_lifetimes lifetimes;
    tide_picture_bands bands;
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    assert_int_equal(
        tide_picture_bands_init(&bands, snapshot, &lifetimes, 0, TIDE_PICTURE_BY_USUAL), TIDE_OK);
    assert_true(bands.is_by_line);
    assert_int_equal(bands.n_bands, 12);
    /* Grey is lowest, freed blocks are above those that stay, and the rest is on top. */
    assert_string_equal(bands.bands[0].label, "no call stack");
    assert_int_equal(bands.bands[0].colour, 0x696969);
    assert_string_equal(bands.bands[1].label, "f10 (train.py:11)");
    assert_string_equal(bands.bands[10].label, "f19 (train.py:20)");
    assert_string_equal(bands.bands[11].label, "10 other lines");
    /* The largest at the peak has the first colour. */
    assert_string_equal(bands.bands[9].label, "f18 (train.py:19)");
    assert_int_equal(bands.bands[9].colour, 0x0072b2);
    for (size_t i = 0; i < bands.n_bands; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(bands.bands[i].colour, bands.bands[k].colour);
        }
    }
    for (size_t i = 0; i < lifetimes.n_lifetimes; i++) {
        const char *label = bands.bands[bands.of_lifetime[i]].label;
        char wanted[64];
        (void)snprintf(wanted, sizeof(wanted), "f%zu (train.py:%zu)", i, i + 1);
        assert_string_equal(label, i == N_LINES ? "no call stack"
                                   : i < 10     ? "10 other lines"
                                                : wanted);
    }
    tide_picture_bands_fini(&bands);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
}

static void categories_have_the_colours_and_order_of_the_page(void **state) {
    (void)state;
    static const char *const OWN[] = {"rope_table"};
    static const made_tables TABLES = {.n_devices = 1};
    tide_event events[TIDE_N_CATEGORIES + 1];
    static const struct {
        const char *key;
        uint32_t colour;
    } WANTED[] = {
        {"parameter", 0x0072b2}, {"optimizer_state", 0xcc79a7}, {"gradient", 0xe69f00},
        {"input", 0x56b4e9},     {"workspace", 0xd55e00},       {"weight_copy", 0x651b4a},
        {"kv_cache", 0x73ecbd},  {"activation", 0x009e73},      {"temporary", 0xf0e442},
        {"unknown", 0x696969},
    };
    for (size_t i = 0; i <= TIDE_N_CATEGORIES; i++) {
        events[i] = made_event(TIDE_ACTION_ALLOC, 512 * (i + 1), 512, 512);
        events[i].category = (uint8_t)i;
    }
    tide_snapshot *snapshot = made_snapshot(NULL, &TABLES, events, TIDE_N_CATEGORIES + 1);
    snapshot->own_categories = OWN;
    snapshot->n_own_categories = 1;
    tide_lifetimes lifetimes;
    tide_picture_bands bands;
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    assert_int_equal(
        tide_picture_bands_init(&bands, snapshot, &lifetimes, 0, TIDE_PICTURE_BY_USUAL), TIDE_OK);
    assert_false(bands.is_by_line);
    assert_int_equal(bands.n_bands, TIDE_N_CATEGORIES + 1);
    for (size_t i = 0; i < TIDE_N_CATEGORIES; i++) {
        assert_string_equal(bands.bands[i].key, WANTED[i].key);
        assert_int_equal(bands.bands[i].colour, WANTED[i].colour);
    }
    assert_string_equal(bands.bands[TIDE_N_CATEGORIES].label, "rope_table");
    tide_error error = {""};
    const char *const names[] = {"parameter", "gradients,rope_table"};
    assert_int_equal(tide_picture_bands_hide(&bands, names, 2, &error), TIDE_OK);
    assert_true(bands.bands[0].is_hidden && bands.bands[2].is_hidden &&
                bands.bands[TIDE_N_CATEGORIES].is_hidden);
    assert_false(bands.bands[1].is_hidden);
    const char *const wrong[] = {"paramter"};
    assert_int_equal(tide_picture_bands_hide(&bands, wrong, 1, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "'paramter'"));
    assert_non_null(strstr(error.message, "parameter, optimizer_state, gradient"));
    tide_picture_bands_fini(&bands);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
}

/* The colours that categoryColour of viewer/src/words/colours.js returns. */
static void own_categories_have_the_colours_of_the_page(void **state) {
    (void)state;
    assert_int_equal(tide_picture_colour_category("a"), 0xa29c4b);
    assert_int_equal(tide_picture_colour_category("rope_table"), 0x98caf4);
    assert_int_equal(tide_picture_colour_category("Gr\xC3\xB6\xC3\x9F"
                                                  "e"),
                     0xd39fba);
    assert_int_equal(tide_picture_colour_category("\xE6\x97\xA5\xE6\x9C\xAC"), 0x74b499);
    assert_int_equal(tide_picture_colour_category("\xF0\x9F\x98\x80x"), 0xa29c4b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_lines_have_bands),
        cmocka_unit_test(categories_have_the_colours_and_order_of_the_page),
        cmocka_unit_test(own_categories_have_the_colours_of_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
