#include "snapshot/user_frame.h"

#include <stdio.h>
#include <string.h>

#include "snapshot/path_text_internal.h"

/* Packages that stand between a program and its tensors, or around its training loop: of a stack
 * without a line of the program's own, their lines say less than those of other packages. */
static const char *const PLUMBING[] = {"torch",
                                       "torchgen",
                                       "functorch",
                                       "triton",
                                       "einops",
                                       "numpy",
                                       "opt_einsum",
                                       "accelerate",
                                       "lightning",
                                       "lightning_fabric",
                                       "pytorch_lightning",
                                       "jaxtyping",
                                       "beartype"};

/* The last "-packages/" of a path; NULL: it is in no package. */
static const char *package_of(const char *file) {
    static const char FOLDER[] = "-packages/";
    const char *found = NULL;
    for (const char *at = file; (at = strstr(at, FOLDER)) != NULL;) {
        at += sizeof(FOLDER) - 1;
        found = at;
    }
    return found;
}

static bool is_plumbing(const char *package) {
    size_t n = strcspn(package, "/");
    for (size_t i = 0; i < sizeof(PLUMBING) / sizeof(PLUMBING[0]); i++) {
        if (strlen(PLUMBING[i]) == n && strncmp(package, PLUMBING[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_python(const char *file) {
    size_t n = strlen(file);
    return n >= 3 && strcmp(file + n - 3, ".py") == 0 && file[0] != '<';
}

/* Whether the file lies in the folder that the user named as the program's own. */
static bool is_named_own(const tide_snapshot *snapshot, const char *file) {
    char folder[TIDE_PATH_TEXT];
    if (snapshot->user_path[0] == '\0') {
        return false;
    }
    tide_path_text(snapshot->user_path, folder);
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/') {
        folder[--n] = '\0';
    }
    return starts_with(file, folder) && file[n] == '/';
}

/* What torch.compile generated: ".../kj/ckjz4gqebekrb5gz....py", a hash in base 32 in the folder of
 * its second and third character, wherever the cache lies. The line of the program that was
 * compiled is further out. */
static bool is_generated(const char *file) {
    enum { LEAST_HASH = 40 };
    const char *name = strrchr(file, '/');
    if (name == NULL || name - file < 3 || name[-3] != '/') {
        return false;
    }
    size_t n = strspn(name + 1, "abcdefghijklmnopqrstuvwxyz234567");
    return n >= LEAST_HASH && name[n + 1] == '.' && name[2] == name[-2] && name[3] == name[-1];
}

/* The standard library of Python, also that of Windows, PyTorch run from its sources, or what
 * `tidemark run` brings along. */
static bool is_below_program(const char *file) {
    bool is_windows = file[0] != '\0' && file[1] == ':';
    return strstr(file, "/lib/python3") != NULL || (is_windows && strstr(file, "/Lib/") != NULL) ||
           strstr(file, "/torch/") != NULL || strstr(file, "/python/tidemark/") != NULL ||
           is_generated(file);
}

bool tide_frame_is_user(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    return is_python(file) &&
           (is_named_own(snapshot, file) || (package_of(file) == NULL && !is_below_program(file)));
}

/* A line of a package that a program uses for its model, such as a library of layers. */
static bool is_model_library(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    const char *package = package_of(file);
    return package != NULL && is_python(file) && !is_plumbing(package);
}

uint32_t tide_library_frame(const tide_snapshot *snapshot, uint32_t stack) {
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        uint32_t frame = snapshot->stacks[stack].frame;
        if (tide_frame_is_user(snapshot, frame)) {
            return TIDE_NONE;
        }
        if (is_model_library(snapshot, frame)) {
            return frame;
        }
    }
    return TIDE_NONE;
}

/* "torch::autograd::generated::MulBackward0::apply(...)",
 * "torch::autograd::AccumulateGrad::apply(". */
static bool is_gradient(const char *function) {
    return starts_with(function, "torch::autograd::") && strstr(function, "::apply(") != NULL;
}

static bool is_allocator(const char *function) {
    return starts_with(function, "torch::unwind::") ||
           starts_with(function, "torch::CapturedTraceback::") ||
           starts_with(function, "torch::cuda::") || starts_with(function, "c10::cuda::");
}

uint32_t tide_user_frame(const tide_snapshot *snapshot, uint32_t stack) {
    uint32_t library = TIDE_NONE;
    uint32_t gradient = TIDE_NONE;
    uint32_t first = TIDE_NONE;
    uint32_t innermost = stack != TIDE_NONE ? snapshot->stacks[stack].frame : TIDE_NONE;
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        uint32_t frame = snapshot->stacks[stack].frame;
        const char *function = tide_snapshot_text(snapshot, snapshot->frames[frame].function);
        if (tide_frame_is_user(snapshot, frame)) {
            return frame;
        }
        if (library == TIDE_NONE && is_model_library(snapshot, frame)) {
            library = frame;
        }
        if (gradient == TIDE_NONE && is_gradient(function)) {
            gradient = frame;
        }
        if (first == TIDE_NONE && !is_allocator(function)) {
            first = frame;
        }
    }
    return library != TIDE_NONE    ? library
           : gradient != TIDE_NONE ? gradient
           : first != TIDE_NONE    ? first
                                   : innermost;
}

void tide_frame_text(const tide_snapshot *snapshot, uint32_t frame, char *ret_text, size_t n_room) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *function = tide_snapshot_text(snapshot, row->function);
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, row->file), file);
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    size_t n = strlen(function);
    const char *arguments = strchr(function, '(');
    if (strchr(function, ':') != NULL && arguments != NULL && arguments > function) {
        n = (size_t)(arguments - function);
    }
    if (n == 0) {
        function = "?";
        n = 1;
    }
    if (row->line > 0) {
        snprintf(ret_text, n_room, "%.*s (%s:%d)", (int)n, function, name, (int)row->line);
    } else {
        snprintf(ret_text, n_room, "%.*s", (int)n, function);
    }
}
