/* test_stacks.c - call stacks as a person reads them: from the allocation's caller to main, each
 * frame with function, file and line, inlined ones included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/measure.h"

#define NOT_INLINED __attribute__((noinline))
#define INLINED __attribute__((always_inline)) static inline

/* Line numbers of the calls below, taken here so that the test does not repeat them. */
typedef struct call_lines {
    int alloc, helper, middle, outer;
} call_lines;

static call_lines lines;

/* Each function is one line, the line of its call. clang-format would split them. */
/* clang-format off */
NOT_INLINED static uint64_t allocate_here(tide_cache *cache, size_t n_bytes) {
    uint64_t address = 0;
    lines.alloc = __LINE__; assert_int_equal(tide_cache_alloc(cache, n_bytes, 0, &(tide_tag){TIDE_ACTIVATION, "x"}, &address, NULL), TIDE_OK);
    return address;
}

INLINED uint64_t inlined_helper(tide_cache *cache, size_t n_bytes) {
    lines.helper = __LINE__; return allocate_here(cache, n_bytes + 1);
}

NOT_INLINED static uint64_t middle_function(tide_cache *cache, size_t n_bytes) {
    lines.middle = __LINE__; uint64_t address = inlined_helper(cache, n_bytes);
    return address;
}

NOT_INLINED static uint64_t outer_function(tide_cache *cache, size_t n_bytes) {
    lines.outer = __LINE__; uint64_t address = middle_function(cache, n_bytes);
    return address;
}
/* clang-format on */

typedef struct fixture {
    tide_device *device;
    tide_recorder *recorder;
    tide_cache *cache;
} fixture;

static fixture create_fixture(void) {
    fixture f = {NULL, NULL, NULL};
    assert_int_equal(tide_device_open("virtual", NULL, &f.device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(NULL, &f.recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(f.device, f.recorder, NULL, &f.cache, NULL), TIDE_OK);
    return f;
}

static void destroy_fixture(fixture *f) {
    tide_cache_destroy(f->cache);
    tide_recorder_destroy(f->recorder);
    tide_device_close(f->device);
}

static tide_snapshot *capture(const fixture *f) {
    tide_snapshot *snapshot = NULL;
    assert_int_equal(tide_capture(f->recorder, f->cache, NULL, &snapshot, NULL), TIDE_OK);
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        assert_true(tide_snapshot_text(snapshot, snapshot->frames[i].function)[0] != '\0');
    }
    return snapshot;
}

/* Without libbacktrace there are only names, and no names of static functions. */
static bool has_lines(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        if (snapshot->frames[i].line > 0) {
            return true;
        }
    }
    return false;
}

/* Returns the frame at `*node` and advances to its caller. */
static const tide_frame_row *next_frame(const tide_snapshot *snapshot, uint32_t *node) {
    assert_true(*node < snapshot->n_stacks);
    const tide_stack_row *row = &snapshot->stacks[*node];
    assert_true(row->parent == TIDE_NONE || row->parent < *node);
    assert_true(row->frame < snapshot->n_frames);
    *node = row->parent;
    return &snapshot->frames[row->frame];
}

/* The file as seen from the top of the sources. A compiler cache with CCACHE_BASEDIR passes the
 * compiler a path relative to the build folder, "../../tests", to which no mapping of paths
 * applies; an absolute path stays absolute. */
static const char *path_in_sources(const char *file) {
    for (;;) {
        if (strncmp(file, "./", 2) == 0) {
            file += 2;
        } else if (strncmp(file, "../", 3) == 0) {
            file += 3;
        } else {
            return file;
        }
    }
}

static void expect_frame(const tide_snapshot *snapshot, uint32_t *node, const char *function,
                         int line, bool inlined) {
    const tide_frame_row *frame = next_frame(snapshot, node);
    assert_string_equal(tide_snapshot_text(snapshot, frame->function), function);
    const char *file = path_in_sources(tide_snapshot_text(snapshot, frame->file));
    assert_string_equal(file, "tests/unit/capture/test_stacks.c");
    assert_int_equal(frame->line, line);
    assert_int_equal(frame->inlined, inlined);
}

static void skip_without_stacks(const fixture *f) {
    if (tide_recorder_stacks_missing(f->recorder) != NULL) {
        print_message("skipped: %s\n", tide_recorder_stacks_missing(f->recorder));
        skip();
    }
}

static void a_chain_reads_as_it_was_called(void **state) {
    (void)state;
    fixture f = create_fixture();
    skip_without_stacks(&f);
    uint64_t address = outer_function(f.cache, 1000);
    assert_int_equal(tide_cache_release(f.cache, address, NULL), TIDE_OK);
    tide_snapshot *snapshot = capture(&f);
    assert_true(snapshot->n_events >= 3); /* segment_alloc, alloc, free */
    if (TIDEMARK_HAVE_BACKTRACE) {
        assert_true(has_lines(snapshot));
    }
    for (size_t i = 0; TIDEMARK_HAVE_BACKTRACE && i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        uint32_t node = event.stack;
        if (event.action != TIDE_ACTION_FREE) {
            expect_frame(snapshot, &node, "allocate_here", lines.alloc, false);
            expect_frame(snapshot, &node, "inlined_helper", lines.helper, true);
            expect_frame(snapshot, &node, "middle_function", lines.middle, false);
            expect_frame(snapshot, &node, "outer_function", lines.outer, false);
        }
        const tide_frame_row *frame = next_frame(snapshot, &node);
        assert_string_equal(tide_snapshot_text(snapshot, frame->function),
                            "a_chain_reads_as_it_was_called");
        while (node != TIDE_NONE) { /* frames of the test runner, down to main */
            frame = next_frame(snapshot, &node);
            assert_int_equal(node == TIDE_NONE,
                             strcmp(tide_snapshot_text(snapshot, frame->function), "main") == 0);
        }
    }
    tide_snapshot_destroy(snapshot);
    destroy_fixture(&f);
}

static void frames_and_nodes_are_stored_once(void **state) {
    (void)state;
    fixture f = create_fixture();
    skip_without_stacks(&f);
    for (int i = 0; i < 20; i++) {
        (void)outer_function(f.cache, 4096);
    }
    for (int i = 0; i < 20; i++) {
        (void)middle_function(f.cache, 4096); /* shares its outer frames */
    }
    tide_snapshot *snapshot = capture(&f);
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        for (size_t j = 0; j < i; j++) {
            const tide_frame_row *a = &snapshot->frames[i], *b = &snapshot->frames[j];
            assert_false(a->function == b->function && a->file == b->file && a->line == b->line &&
                         a->inlined == b->inlined);
        }
    }
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        for (size_t j = 0; j < i; j++) {
            const tide_stack_row *a = &snapshot->stacks[i], *b = &snapshot->stacks[j];
            assert_false(a->parent == b->parent && a->frame == b->frame);
        }
    }
    for (size_t i = 0; i < snapshot->n_end_blocks; i++) {
        const tide_block_row *block = &snapshot->end_blocks[i];
        assert_true(block->state == TIDE_BLOCK_FREE || block->stack < snapshot->n_stacks);
    }
    tide_snapshot_destroy(snapshot);
    destroy_fixture(&f);
}

static void the_cost_of_recording_can_be_measured(void **state) {
    (void)state;
    double ns = -1.0;
    assert_int_equal(tide_recorder_measure_ns(NULL, &ns, NULL), TIDE_OK);
    assert_true(ns > 0.0);
    print_message("%.0f ns per event\n", ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_reads_as_it_was_called),
        cmocka_unit_test(frames_and_nodes_are_stored_once),
        cmocka_unit_test(the_cost_of_recording_can_be_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
