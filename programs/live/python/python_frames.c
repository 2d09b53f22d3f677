/* python_frames.c - finds the interpreter of this process once, and walks the calling thread's
 * frames in it. */
#define _GNU_SOURCE
#include "programs/live/python/python_frames.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "programs/live/python/python_frames_internal.h"

/* Slots for threads that search at the same time; all find the same. */
enum { N_FOUND = 16 };

/* The result of one search of the process. */
typedef struct found {
    tide_python_view view;
    const void *(*thread_state)(void); /* PyGILState_GetThisThreadState */
    char refused[200];                 /* why the frames cannot be read; "" if they can */
} found;

/* Filled without a lock, so a fork leaves no lock held in the child. */
static found founds[N_FOUND];
static _Atomic(size_t) n_founds;
static _Atomic(const found *) published;
static _Atomic(uint64_t) n_refused;

/* dlsym returns a function's address as an object's. */
#define TAKE_FUNCTION(pointer, symbol)                                                             \
    do {                                                                                           \
        void *address_ = (symbol);                                                                 \
        memcpy(&(pointer), &address_, sizeof(pointer));                                            \
    } while (0)

/* 3.11 and later export the number; before, there is only a text that begins with "3.10.". */
static unsigned version_of_process(void) {
    const unsigned long *number = dlsym(RTLD_DEFAULT, "Py_Version");
    if (number != NULL) {
        return (unsigned)(*number >> 16);
    }
    const char *(*get)(void) = NULL;
    TAKE_FUNCTION(get, dlsym(RTLD_DEFAULT, "Py_GetVersion"));
    unsigned major = 0, minor = 0;
    const char *text = get != NULL ? get() : "";
    for (; *text >= '0' && *text <= '9' && major < 100; text++) {
        major = major * 10 + (unsigned)(*text - '0');
    }
    text += *text == '.';
    for (; *text >= '0' && *text <= '9' && minor < 100; text++) {
        minor = minor * 10 + (unsigned)(*text - '0');
    }
    return major << 8 | minor;
}

const char *tide_python_view_check(const tide_python_view *view) {
    const struct {
        const void *type;
        uint16_t n_bytes;
    } sizes[] = {{view->code_type, view->layout.code_basic},
                 {view->frame_type, view->layout.frame_basic},
                 {view->text_type, view->layout.text_basic}};
    if (view->bytes_type == NULL) {
        return "this Python does not export the types that its frames are known by";
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].type == NULL) {
            return "this Python does not export the types that its frames are known by";
        }
        if (tide_python_size(sizes[i].type, TIDE_PYTHON_BASIC_SIZE) != sizes[i].n_bytes) {
            return "this build of Python lays its frames out in a way that is not known";
        }
    }
    return NULL;
}

/* NULL: ret->view is usable. */
static const char *look(unsigned version, found *ret) {
    const tide_python_layout *layout =
        version >> 8 == 3 ? tide_python_layout_of(version & 255) : NULL;
    if (layout == NULL) {
        return "this version is not one of those whose frames are known";
    }
    ret->view.layout = *layout;
    if (layout->minor >= 13) {
        const char *why =
            tide_python_layout_refine(&ret->view.layout, dlsym(RTLD_DEFAULT, "_PyRuntime"));
        if (why != NULL) {
            return why;
        }
    }
    ret->view.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    ret->view.frame_type = dlsym(RTLD_DEFAULT, "PyFrame_Type");
    ret->view.text_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    ret->view.bytes_type = dlsym(RTLD_DEFAULT, "PyBytes_Type");
    return tide_python_view_check(&ret->view);
}

/* NULL if there is no interpreter. */
static const found *find(void) {
    found local;
    memset(&local, 0, sizeof(local));
    TAKE_FUNCTION(local.thread_state, dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
    if (local.thread_state == NULL) {
        return NULL;
    }
    unsigned version = version_of_process();
    const char *why = look(version, &local);
    if (why != NULL) {
        (void)snprintf(local.refused, sizeof(local.refused), "Python %u.%u: %s", version >> 8,
                       version & 255, why);
    }
    size_t slot = atomic_fetch_add(&n_founds, 1);
    if (slot >= N_FOUND) {
        return atomic_load(
            &published); /* all slots are in use; one of those threads has published or will soon */
    }
    founds[slot] = local;
    const found *first = NULL;
    return atomic_compare_exchange_strong(&published, &first, &founds[slot]) ? &founds[slot]
                                                                             : first;
}

bool tide_python_frames_begin(const char **ret_why) {
    const found *here = atomic_load_explicit(&published, memory_order_acquire);
    if (here == NULL) {
        here = find();
    }
    bool is_refused = here != NULL && here->refused[0] != '\0';
    if (ret_why != NULL) {
        *ret_why = is_refused ? here->refused : NULL;
    }
    return here != NULL && !is_refused;
}

size_t tide_python_frames_walk(tide_python_frame *frames, size_t max) {
    const found *here = atomic_load_explicit(&published, memory_order_acquire);
    if (here == NULL || here->refused[0] != '\0') {
        return 0;
    }
    const void *thread = here->thread_state();
    if (thread == NULL) {
        return 0;
    }
    bool refused;
    size_t n = tide_python_view_walk(&here->view, thread, frames, max, &refused);
    if (refused) {
        atomic_fetch_add_explicit(&n_refused, 1, memory_order_relaxed);
    }
    return n;
}

const void *tide_python_frames_top(void) {
    tide_python_frame frame;
    return tide_python_frames_walk(&frame, 1) == 1 ? frame.at : NULL;
}

void tide_python_frames_identify(const void *code, tide_python_identity *ret) {
    const found *here = atomic_load_explicit(&published, memory_order_acquire);
    *ret = (tide_python_identity){NULL, NULL, 0};
    if (here != NULL && here->refused[0] == '\0') {
        tide_python_view_identify(&here->view, code, ret);
    }
}

int tide_python_frames_describe(const tide_python_frame *frame, char *file, size_t n_file,
                                char *function, size_t n_function) {
    const found *here = atomic_load_explicit(&published, memory_order_acquire);
    if (here != NULL && here->refused[0] == '\0') {
        return tide_python_view_describe(&here->view, frame, file, n_file, function, n_function);
    }
    tide_python_unknown_text(file, n_file);
    tide_python_unknown_text(function, n_function);
    return 0;
}

uint64_t tide_python_frames_n_refused(void) {
    return atomic_load_explicit(&n_refused, memory_order_relaxed);
}
