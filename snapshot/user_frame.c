#include "snapshot/user_frame.h"

#include <stdio.h>
#include <string.h>

enum { FILE_TEXT = 512 };

/* Packages that stand between a program and its tensors, or around its training loop. */
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

/* With '/' between folders, whatever the system; the end where it is too long. */
static void normalise(const char *file, char text[FILE_TEXT]) {
    size_t n = strlen(file);
    const char *from = n >= FILE_TEXT ? file + (n - FILE_TEXT + 1) : file;
    snprintf(text, FILE_TEXT, "%s", from);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\\' ? '/' : *at;
    }
}

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

bool tide_frame_is_user(const tide_snapshot *snapshot, uint32_t frame) {
    char file[FILE_TEXT];
    normalise(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    size_t n = strlen(file);
    if (n < 3 || strcmp(file + n - 3, ".py") != 0 || file[0] == '<') {
        return false;
    }
    const char *package = package_of(file);
    if (package != NULL) {
        return !is_plumbing(package);
    }
    /* The standard library, PyTorch run from its sources, or what `tidemark run` brings along. */
    return strstr(file, "/lib/python3") == NULL && strstr(file, "/torch/") == NULL &&
           strstr(file, "/python/tidemark/") == NULL;
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
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
    uint32_t gradient = TIDE_NONE;
    uint32_t first = TIDE_NONE;
    uint32_t innermost = stack != TIDE_NONE ? snapshot->stacks[stack].frame : TIDE_NONE;
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        uint32_t frame = snapshot->stacks[stack].frame;
        const char *function = tide_snapshot_text(snapshot, snapshot->frames[frame].function);
        if (tide_frame_is_user(snapshot, frame)) {
            return frame;
        }
        if (gradient == TIDE_NONE && is_gradient(function)) {
            gradient = frame;
        }
        if (first == TIDE_NONE && !is_allocator(function)) {
            first = frame;
        }
    }
    return gradient != TIDE_NONE ? gradient : first != TIDE_NONE ? first : innermost;
}

void tide_frame_text(const tide_snapshot *snapshot, uint32_t frame, char *ret_text, size_t n_room) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *function = tide_snapshot_text(snapshot, row->function);
    char file[FILE_TEXT];
    normalise(tide_snapshot_text(snapshot, row->file), file);
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
