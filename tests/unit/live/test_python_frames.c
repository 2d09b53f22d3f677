/* test_python_frames.c - frames of every version, made by hand: what is read, omitted and
 * refused. */
#include "made_python.h"

enum { FIRST_MINOR = 10, LAST_MINOR = 14, ROOM = 16 };

static size_t walk(const made_python *of, tide_python_frame *frames, bool *ret_refused) {
    return tide_python_view_walk(&of->view, of->thread, frames, ROOM, ret_refused);
}

static void expect_walk(const made_python *of, size_t n, bool refused) {
    tide_python_frame frames[ROOM];
    bool is_refused = !refused;
    assert_int_equal(walk(of, frames, &is_refused), n);
    assert_int_equal(is_refused, refused);
}

static void whole_stacks_are_read(void **state) {
    (void)state;
    static const char *const EXPECTED[] = {"a.py:f", "dir/b.py:C.m", "c.py:<module>"};
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        tide_python_frame frames[ROOM];
        bool refused = true;
        assert_null(tide_python_view_check(&of->view));
        assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
        assert_false(refused);
        for (size_t i = 0; i < MADE_FRAMES; i++) {
            char file[32], function[32], both[80];
            tide_python_identity identity;
            assert_ptr_equal(frames[i].code, of->codes[i]);
            assert_ptr_equal(frames[i].local0, of->selves[i]);
            int line = tide_python_view_describe(&of->view, &frames[i], file, sizeof(file),
                                                 function, sizeof(function));
            assert_int_equal(line, 10 * ((int)i + 1) + (int)i + 1);
            (void)snprintf(both, sizeof(both), "%s:%s", file, function);
            assert_string_equal(both, EXPECTED[i]);
            tide_python_view_identify(&of->view, of->codes[i], &identity);
            assert_int_equal(identity.first_line, 10 * ((int)i + 1));
            assert_non_null(identity.file);
            assert_non_null(identity.name);
        }
        assert_int_equal(tide_python_view_walk(&of->view, of->thread, frames, 2, &refused), 2);
        assert_false(refused);
        release_python(of);
    }
}

/* `at` differs for every instruction of every code object, has bit 63 clear, and yields the line
 * again. */
static void instructions_are_told_apart(void **state) {
    (void)state;
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        tide_python_frame frames[ROOM], before = {NULL, NULL, NULL};
        bool refused;
        /* Both functions have their instructions in the same bytes, as 3.10's compiler may have it.
         */
        if (of->view.layout.frame_is_object) {
            put_pointer(of->codes[1], of->view.layout.code_instructions,
                        tide_python_pointer(of->codes[0], of->view.layout.code_instructions));
        }
        put_at(of, 1, 2);
        assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
        assert_ptr_not_equal(frames[0].at, frames[1].at);
        for (int32_t unit = 2; unit < MADE_UNITS; unit++) {
            put_at(of, 0, unit);
            assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
            assert_ptr_not_equal(frames[0].at, before.at);
            assert_true((uintptr_t)frames[0].at >> 63 == 0);
            char name[8];
            int line = tide_python_view_describe(&of->view, &frames[0], name, 8, name, 8);
            /* The last entry covers all of the rest in 3.10, and 8 instructions in other
             * versions. */
            int moved = unit < 8 ? unit / 2 : 4;
            assert_int_equal(line, unit < 16 || minor == 10 ? 10 + moved : 0);
            before = frames[0];
        }
        release_python(of);
    }
}

/* 3.10 numbers instructions in the unused bits of an address; a function may have more
 * instructions. */
static void very_long_functions_lose_the_line_alone(void **state) {
    (void)state;
    made_python *of = make_python(10);
    const tide_python_layout *l = &of->view.layout;
    enum { N_UNITS = 600000 };
    char *bytes = make(of, l->bytes_data + 2u * N_UNITS, of->view.bytes_type);
    tide_python_frame frames[ROOM];
    bool refused;
    char name[8];
    put_size(bytes, TIDE_PYTHON_SIZE, 2 * N_UNITS);
    put_pointer(of->codes[0], l->code_instructions, bytes);
    put_int(of->frames[0], l->frame_at, N_UNITS - 1);
    assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
    assert_int_equal(tide_python_view_describe(&of->view, &frames[0], name, 8, name, 8), 0);
    assert_string_equal(name, "f");
    put_int(of->frames[0], l->frame_at, -1);
    assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
    assert_int_equal(tide_python_view_describe(&of->view, &frames[0], name, 8, name, 8), 10);
    release_python(of);
}

static void frames_that_are_none_yet_are_left_out(void **state) {
    (void)state;
    for (unsigned minor = 11; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        for (int32_t unit = -1; unit < 2; unit++) {
            put_at(of, 1, unit);
            of->frames[1][l->frame_owner] = 0;
            expect_walk(of, 2, false);
            of->frames[1][l->frame_owner] = (char)l->owner_generator;
            expect_walk(of, 3, false);
        }
        put_at(of, 1, 4);
        for (int owner = 0; owner < 256; owner++) {
            of->frames[1][l->frame_owner] = (char)(uint8_t)owner;
            bool unknown = owner > l->owner_last;
            expect_walk(of, unknown ? 1 : owner > l->owner_last_shown ? 2 : 3, unknown);
        }
        /* The contents of the interpreter's own frame are not read. */
        if (l->owner_last > l->owner_last_shown) {
            of->frames[1][l->frame_owner] = (char)l->owner_last;
            put_pointer(of->frames[1], l->frame_code, NULL);
            put_pointer(of->frames[1], l->frame_at, NULL);
            expect_walk(of, 2, false);
        }
        release_python(of);
    }
}

static void arguments_are_known_or_absent(void **state) {
    (void)state;
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        tide_python_frame frames[ROOM];
        bool refused;
        put_int(of->codes[0], l->code_n_arguments, 0);
        put_pointer(of->frames[1], l->frame_locals, NULL);
        assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
        assert_null(frames[0].local0);
        assert_null(frames[1].local0);
        assert_ptr_equal(frames[2].local0, of->selves[2]);
        release_python(of);
    }
}

/* Values that are visibly not pointers to Python objects. */
static const uintptr_t BAD[] = {8,
                                0x1238,
                                0xfff8,
                                3,
                                (uintptr_t)1 << 47,
                                0x8000000000000008U,
                                UINTPTR_MAX,
                                0xdbdbdbdbdbdbdbdbU,
                                0xcdcdcdcdcdcdcdcdU,
                                0x5555555555555551U,
                                0x7ffffffffff4U};
enum { N_BAD = sizeof(BAD) / sizeof(BAD[0]) };

/* Overwrites the word at `offset` of the frame with `value`, walks, and restores it. */
static size_t walk_with(made_python *of, size_t frame, size_t offset, uintptr_t value,
                        bool *ret_refused) {
    tide_python_frame frames[ROOM];
    uintptr_t before;
    memcpy(&before, of->frames[frame] + offset, sizeof(before));
    put(of->frames[frame], offset, &value, sizeof(value));
    size_t n = walk(of, frames, ret_refused);
    put(of->frames[frame], offset, &before, sizeof(before));
    return n;
}

static void overwritten_frames_end_the_stack(void **state) {
    (void)state;
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        bool refused;
        for (size_t i = 0; i < N_BAD; i++) {
            for (size_t frame = 0; frame < MADE_FRAMES; frame++) {
                assert_int_equal(walk_with(of, frame, l->frame_previous, BAD[i], &refused),
                                 frame + 1);
                assert_true(refused);
                assert_int_equal(walk_with(of, frame, l->frame_code, BAD[i], &refused), frame);
                assert_true(refused);
                if (!l->frame_is_object) {
                    assert_int_equal(walk_with(of, frame, l->frame_at, BAD[i], &refused), frame);
                    assert_true(refused);
                }
            }
            /* Every word of a frame in turn: nothing crashes, and no frame is made up. */
            for (size_t offset = 0; offset + 8 <= of->n_frame; offset += 8) {
                size_t n = walk_with(of, 1, offset, BAD[i], &refused);
                assert_true(n >= 1 && n <= MADE_FRAMES);
            }
        }
        /* Objects that exist, but are not code. */
        const void *others[] = {of->selves[1], of->view.code_type, of->frames[2], NULL};
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
            assert_int_equal(walk_with(of, 1, l->frame_code, (uintptr_t)others[i], &refused), 1);
            assert_true(refused);
        }
        release_python(of);
    }
}

static void instructions_outside_of_the_code_are_refused(void **state) {
    (void)state;
    static const int32_t OUTSIDE[] = {-2,      -1000,        MADE_UNITS, MADE_UNITS + 1,
                                      1 << 28, INT32_MIN / 4};
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        for (size_t i = 0; i < sizeof(OUTSIDE) / sizeof(OUTSIDE[0]); i++) {
            put_at(of, 1, OUTSIDE[i]);
            expect_walk(of, 1, true);
        }
        put_at(of, 1, MADE_UNITS - 1);
        expect_walk(of, 3, false);
        if (l->frame_is_object) {
            put_pointer(of->codes[1], l->code_instructions, of->selves[1]); /* not bytes */
            expect_walk(of, 1, true);
            put_pointer(of->frames[0], TIDE_PYTHON_TYPE, of->view.code_type); /* not a frame */
            expect_walk(of, 0, true);
        } else {
            put_pointer(of->frames[1], l->frame_at, of->codes[1] + l->code_instructions + 5);
            expect_walk(of, 1, true); /* between two instructions */
            put_at(of, 1, 4);
            put_size(of->codes[1], TIDE_PYTHON_SIZE, -1);
            expect_walk(of, 1, true);
        }
        release_python(of);
    }
}

static void stacks_without_an_end_do_end(void **state) {
    (void)state;
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        put_pointer(of->frames[2], l->frame_previous, of->frames[1]);
        expect_walk(of, ROOM, false);
        put_pointer(of->frames[0], l->frame_previous, of->frames[0]);
        expect_walk(of, ROOM, false);
        if (l->owner_last > l->owner_last_shown) {
            of->frames[0][l->frame_owner] = (char)l->owner_last;
            expect_walk(of, 0, true);
        }
        release_python(of);
    }
}

static void bad_threads_have_no_frames(void **state) {
    (void)state;
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        tide_python_frame frames[ROOM];
        bool refused = false;
        assert_int_equal(tide_python_view_walk(&of->view, NULL, frames, ROOM, &refused), 0);
        assert_true(refused);
        for (size_t i = 0; i < N_BAD; i++) {
            put(of->thread, l->thread_top, &BAD[i], sizeof(BAD[i]));
            expect_walk(of, 0, true);
        }
        put_pointer(of->thread, l->thread_top, NULL);
        expect_walk(
            of, 0,
            l->top_in_cframe); /* a thread that runs no Python has no frame, but has a cframe */
        release_python(of);
    }
}

/* A code object may also be overwritten: names become "?", lines 0. */
static void overwritten_code_is_unknown(void **state) {
    (void)state;
    for (unsigned minor = FIRST_MINOR; minor <= LAST_MINOR; minor++) {
        made_python *of = make_python(minor);
        const tide_python_layout *l = &of->view.layout;
        tide_python_frame frames[ROOM];
        char file[32], function[32];
        tide_python_identity identity;
        bool refused;
        assert_int_equal(walk(of, frames, &refused), MADE_FRAMES);
        for (size_t i = 0; i < N_BAD; i++) {
            const uint16_t fields[] = {l->code_file, l->code_name, l->code_lines};
            for (size_t f = 0; f < 3; f++) {
                put(of->codes[0], fields[f], &BAD[i], sizeof(BAD[i]));
            }
            assert_int_equal(
                tide_python_view_describe(&of->view, &frames[0], file, 32, function, 32), 0);
            assert_string_equal(file, "?");
            assert_string_equal(function, "?");
        }
        /* An overlong table of lines, and then no code at all. */
        char *lines = make_bytes(of, "", 0);
        put_size(lines, TIDE_PYTHON_SIZE, INT64_MAX);
        put_pointer(of->codes[0], l->code_lines, lines);
        assert_int_equal(tide_python_view_describe(&of->view, &frames[0], file, 1, function, 0), 0);
        assert_string_equal(file, "");
        frames[0].code = of->selves[0];
        assert_int_equal(tide_python_view_describe(&of->view, &frames[0], file, 32, function, 32),
                         0);
        assert_string_equal(function, "?");
        tide_python_view_identify(&of->view, of->selves[0], &identity);
        assert_null(identity.file);
        assert_int_equal(identity.first_line, 0);
        release_python(of);
    }
}

static void other_layouts_are_refused(void **state) {
    (void)state;
    made_python *of = make_python(11);
    assert_null(tide_python_layout_of(9));
    assert_null(tide_python_layout_of(15));
    of->view.layout.code_basic += 8;
    assert_non_null(tide_python_view_check(&of->view));
    of->view.layout.code_basic -= 8;
    of->view.layout.frame_basic += 16;
    assert_non_null(tide_python_view_check(&of->view));
    of->view.layout.frame_basic -= 16;
    assert_null(tide_python_view_check(&of->view));
    const void *type = of->view.bytes_type;
    of->view.bytes_type = NULL;
    assert_non_null(tide_python_view_check(&of->view));
    of->view.bytes_type = type;
    of->view.text_type = NULL;
    assert_non_null(tide_python_view_check(&of->view));
    release_python(of);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_stacks_are_read),
        cmocka_unit_test(instructions_are_told_apart),
        cmocka_unit_test(very_long_functions_lose_the_line_alone),
        cmocka_unit_test(frames_that_are_none_yet_are_left_out),
        cmocka_unit_test(arguments_are_known_or_absent),
        cmocka_unit_test(overwritten_frames_end_the_stack),
        cmocka_unit_test(instructions_outside_of_the_code_are_refused),
        cmocka_unit_test(stacks_without_an_end_do_end),
        cmocka_unit_test(bad_threads_have_no_frames),
        cmocka_unit_test(overwritten_code_is_unknown),
        cmocka_unit_test(other_layouts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
