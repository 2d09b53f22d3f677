/* test_python_begin.c - which interpreters are accepted and which are refused. This program exports
 * what an interpreter would; each case runs in its own child, because a process keeps what it
 * found.
 */
#define _POSIX_C_SOURCE 200809L
#include "made_python.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* Offsets that 3.13.0 and 3.14.8 report, by the names of their own structures. */
typedef struct told {
    char cookie[8];
    uint64_t version, free_threaded, runtime[3], rest[100];
} told;
enum { OFFSETS_3_13 = 13 + 9, OFFSETS_3_14 = 16 + 9 }; /* where the frame's begin in `rest` */

extern unsigned long Py_Version;
extern told _PyRuntime;
extern uint64_t PyCode_Type[50], PyFrame_Type[50], PyUnicode_Type[50], PyBytes_Type[50];
const void *PyGILState_GetThisThreadState(void);

unsigned long Py_Version;
told _PyRuntime;
uint64_t PyCode_Type[50], PyFrame_Type[50], PyUnicode_Type[50], PyBytes_Type[50];
static const void *thread_state;

const void *PyGILState_GetThisThreadState(void) {
    return thread_state;
}

static void put_told(size_t at, const uint64_t *numbers, size_t n) {
    memcpy(&_PyRuntime.rest[at], numbers, n * sizeof(*numbers));
}

/* Exports what a build of 3.minor would. */
static void be(unsigned minor) {
    const tide_python_layout *l = tide_python_layout_of(minor);
    Py_Version = (3UL << 24) | ((unsigned long)minor << 16) | 0x1f0;
    if (l == NULL) {
        return;
    }
    put_size(PyCode_Type, TIDE_PYTHON_BASIC_SIZE, l->code_basic);
    put_size(PyFrame_Type, TIDE_PYTHON_BASIC_SIZE, l->frame_basic);
    put_size(PyUnicode_Type, TIDE_PYTHON_BASIC_SIZE, l->text_basic);
    memcpy(_PyRuntime.cookie, "xdebugpy", 8);
    _PyRuntime.version = Py_Version;
    bool is_13 = minor == 13;
    size_t at = is_13 ? OFFSETS_3_13 : OFFSETS_3_14;
    const uint64_t thread[] = {400, 0, 8, 16, l->thread_top};
    const uint64_t frame[] = {96,          l->frame_previous, l->frame_code,
                              l->frame_at, l->frame_locals,   l->frame_owner};
    const uint64_t code[] = {200,
                             l->code_file,
                             120,
                             l->code_name,
                             l->code_lines,
                             l->code_first_line,
                             l->code_n_arguments,
                             96,
                             104,
                             l->code_instructions};
    const uint64_t object[] = {16, 8, 400, 24, 88, 168}; /* and the type */
    const uint64_t bytes[] = {
        40, 16, l->bytes_data, 64, l->text_state, l->text_length, l->text_ascii_data};
    put_told(at - 9, thread, 5);
    put_told(at, frame, 6);
    at += is_13 ? 6 : 8;
    put_told(at, code, 10);
    at += is_13 ? 10 : 11;
    put_told(at, object, 6);
    put_told(at + 6 + (is_13 ? 14 : 18), bytes, 7);
}

/* Runs `body` in a child, which must end well. */
static void in_a_child(void (*body)(void)) {
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: " #condition "\n", __func__, __LINE__);                  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void expect_refused(const char *part) {
    const char *why = NULL;
    tide_python_frame frame;
    EXPECT(!tide_python_frames_begin(&why));
    if (why == NULL || strstr(why, part) == NULL) {
        (void)fprintf(stderr, "expected \"%s\", printed \"%s\"\n", part,
                      why != NULL ? why : "nothing");
        exit(1);
    }
    EXPECT(!tide_python_frames_begin(NULL));
    EXPECT(tide_python_frames_walk(&frame, 1) == 0);
    EXPECT(tide_python_frames_top() == NULL);
}

static unsigned current;

static void takes_current(void) {
    const char *why = "set";
    tide_python_frame frames[4];
    made_python *of = make_python(current);
    char file[16], function[16];
    tide_python_identity identity;
    be(current);
    EXPECT(tide_python_frames_walk(frames, 4) == 0); /* before it began */
    EXPECT(tide_python_frames_describe(&frames[0], file, 16, function, 16) == 0);
    EXPECT(strcmp(file, "?") == 0);
    EXPECT(tide_python_frames_begin(&why));
    EXPECT(why == NULL);
    EXPECT(tide_python_frames_walk(frames, 4) == 0); /* a thread that it does not know */
    /* The frames were made with other types; these are the interpreter's. */
    for (size_t i = 0; i < MADE_FRAMES; i++) {
        put_pointer(of->codes[i], TIDE_PYTHON_TYPE, PyCode_Type);
        put_pointer(of->frames[i], TIDE_PYTHON_TYPE,
                    tide_python_pointer(of->frames[i], TIDE_PYTHON_TYPE));
        if (of->view.layout.frame_is_object) {
            put_pointer(of->frames[i], TIDE_PYTHON_TYPE, PyFrame_Type);
            void *bytes;
            memcpy(&bytes, of->codes[i] + of->view.layout.code_instructions, sizeof(bytes));
            put_pointer(bytes, TIDE_PYTHON_TYPE, PyBytes_Type);
        }
    }
    thread_state = of->thread;
    EXPECT(tide_python_frames_walk(frames, 4) == MADE_FRAMES);
    EXPECT(tide_python_frames_top() == frames[0].at);
    tide_python_frames_identify(of->codes[0], &identity);
    EXPECT(identity.first_line == 10);
    EXPECT(tide_python_frames_n_refused() == 0);
    put_pointer(of->frames[0], of->view.layout.frame_previous, of->selves[0] + 1);
    EXPECT(tide_python_frames_walk(frames, 4) == 1);
    EXPECT(tide_python_frames_n_refused() == 1);
    release_python(of);
}

static void known_versions_are_taken(void **state) {
    (void)state;
    for (current = 10; current <= 14; current++) {
        in_a_child(takes_current);
    }
}

static void *begin(void *ret_good) {
    *(bool *)ret_good = tide_python_frames_begin(NULL);
    return NULL;
}

static void many_at_once(void) {
    enum { N = 12 };
    pthread_t threads[N];
    bool good[N] = {false};
    be(13);
    for (size_t i = 0; i < N; i++) {
        EXPECT(pthread_create(&threads[i], NULL, begin, &good[i]) == 0);
    }
    for (size_t i = 0; i < N; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        EXPECT(good[i]);
    }
}

static void threads_may_begin_at_once(void **state) {
    (void)state;
    in_a_child(many_at_once);
}

static void refuses_unknown(void) {
    be(current);
    expect_refused(current == 9 ? "Python 3.9:" : "Python 3.15:");
}

static void refuses_free_threaded(void) {
    be(current);
    _PyRuntime.free_threaded = 1;
    expect_refused("free-threaded");
}

static void refuses_other_structures(void) {
    be(current);
    PyCode_Type[4] += 8;
    expect_refused("not known");
}

static void refuses_without_cookie(void) {
    be(current);
    _PyRuntime.cookie[0] = 'y';
    expect_refused("does not show");
}

static void refuses_another_version(void) {
    be(current);
    _PyRuntime.version += 1UL << 16;
    expect_refused("another version");
}

static void refuses_large_offsets(void) {
    be(current);
    _PyRuntime.rest[(current == 13 ? OFFSETS_3_13 : OFFSETS_3_14) + 3] = 1UL << 32;
    expect_refused("cannot be true");
}

static void others_are_refused_by_name(void **state) {
    (void)state;
    for (current = 9; current <= 15; current += 6) {
        in_a_child(refuses_unknown);
    }
    for (current = 10; current <= 14; current++) {
        in_a_child(refuses_other_structures);
    }
    for (current = 13; current <= 14; current++) {
        in_a_child(refuses_free_threaded);
        in_a_child(refuses_without_cookie);
        in_a_child(refuses_another_version);
        in_a_child(refuses_large_offsets);
    }
}

/* The interpreter's own numbers are used if they differ from the table's. */
static void what_it_tells_is_used(void **state) {
    (void)state;
    for (unsigned minor = 13; minor <= 14; minor++) {
        tide_python_layout layout = *tide_python_layout_of(minor);
        be(minor);
        assert_null(tide_python_layout_refine(&layout, &_PyRuntime));
        assert_memory_equal(&layout, tide_python_layout_of(minor), sizeof(layout));
        size_t at = minor == 13 ? OFFSETS_3_13 : OFFSETS_3_14;
        _PyRuntime.rest[at + 4] += 16;                        /* locals */
        _PyRuntime.rest[at + (minor == 13 ? 6 : 8) + 9] += 8; /* co_code_adaptive */
        assert_null(tide_python_layout_refine(&layout, &_PyRuntime));
        assert_int_equal(layout.frame_locals, tide_python_layout_of(minor)->frame_locals + 16);
        assert_int_equal(layout.code_instructions,
                         tide_python_layout_of(minor)->code_instructions + 8);
        assert_int_equal(layout.code_first_traceable,
                         tide_python_layout_of(minor)->code_first_traceable + 8);
    }
    tide_python_layout old = *tide_python_layout_of(12);
    assert_non_null(tide_python_layout_refine(&old, &_PyRuntime));
    assert_non_null(tide_python_layout_refine(&old, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_versions_are_taken),
        cmocka_unit_test(threads_may_begin_at_once),
        cmocka_unit_test(others_are_refused_by_name),
        cmocka_unit_test(what_it_tells_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
