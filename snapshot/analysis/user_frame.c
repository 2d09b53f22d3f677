#include "snapshot/analysis/user_frame.h"

#include <stdio.h>
#include <string.h>

#include "snapshot/analysis/path_text_friend.h"

/* Packages between a program and its tensors, or around its training loop: in a stack without a
 * line of the program itself, their lines are less specific than those of other packages. */
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

/* The part of a path after the last "-packages/"; NULL: not in a package. */
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

static bool ends_in_py(const char *file) {
    size_t n = strlen(file);
    return n >= 3 && strcmp(file + n - 3, ".py") == 0;
}

const char *tide_file_package(const char *file, size_t *ret_n_bytes) {
    const char *package = package_of(file);
    *ret_n_bytes = package != NULL ? strcspn(package, "/") : 0;
    return package;
}

bool tide_file_is_python(const char *file) {
    static const char *const TYPED[] = {"<stdin>", "<console>", "<ipython-input"};
    for (size_t i = 0; i < sizeof(TYPED) / sizeof(TYPED[0]); i++) {
        if (starts_with(file, TYPED[i])) {
            return true;
        }
    }
    return ends_in_py(file) && file[0] != '<';
}

/* Whether the file is in the folder that the user declared as the program's own. */
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

/* Whether torch.compile generated the file: ".../kj/ckjz4gqebekrb5gz....py", a hash in base 32 in
 * the folder named by its second and third character, wherever the cache is. The compiled line of
 * the program is further out. */
static bool is_generated(const char *file) {
    enum { LEAST_HASH = 40 };
    const char *name = strrchr(file, '/');
    if (name == NULL || name - file < 3 || name[-3] != '/') {
        return false;
    }
    size_t n = strspn(name + 1, "abcdefghijklmnopqrstuvwxyz234567");
    return n >= LEAST_HASH && name[n + 1] == '.' && name[2] == name[-2] && name[3] == name[-1];
}

/* The standard library of Python, also on Windows, PyTorch run from its sources, files of
 * `tidemark run`, or those that torch_geometric writes for each layer into the folder of temporary
 * files. */
static bool is_below_program(const char *file) {
    bool is_windows = file[0] != '\0' && file[1] == ':';
    return strstr(file, "/lib/python3") != NULL || (is_windows && strstr(file, "/Lib/") != NULL) ||
           strstr(file, "/torch/") != NULL || strstr(file, "/python/tidemark/") != NULL ||
           strstr(file, "/torch_geometric.") != NULL || is_generated(file);
}

bool tide_file_is_program(const char *file) {
    char path[TIDE_PATH_TEXT];
    tide_path_text(file, path);
    return tide_file_is_python(path) && package_of(path) == NULL && !is_below_program(path);
}

bool tide_frame_is_user(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    return tide_file_is_python(file) &&
           (is_named_own(snapshot, file) || (package_of(file) == NULL && !is_below_program(file)));
}

bool tide_frame_is_model_library(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    const char *package = package_of(file);
    return package != NULL && tide_file_is_python(file) && !is_plumbing(package);
}

uint32_t tide_library_frame(const tide_snapshot *snapshot, uint32_t stack) {
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        uint32_t frame = snapshot->stacks[stack].frame;
        if (tide_frame_is_user(snapshot, frame)) {
            return TIDE_NONE;
        }
        if (tide_frame_is_model_library(snapshot, frame)) {
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

/* Whether a function is of PyTorch's allocator, of its recording, or of the CUDA runtime. Names are
 * mangled if there is no C++ library to demangle them. */
static bool is_allocator(const char *function) {
    static const char *const PREFIXES[] = {"torch::unwind::", "torch::CapturedTraceback::",
                                           "torch::cuda::",   "c10::cuda::",
                                           "_ZN3c104cuda",    "cudaError "};
    for (size_t i = 0; i < sizeof(PREFIXES) / sizeof(PREFIXES[0]); i++) {
        if (starts_with(function, PREFIXES[i])) {
            return true;
        }
    }
    size_t n = starts_with(function, "cuda") ? 4 : starts_with(function, "cu") ? 2 : 0;
    return n > 0 && function[n] >= 'A' && function[n] <= 'Z';
}

/* Whether a file is Python code of tidemark. */
static bool is_ours(const char *file) {
    return strstr(file, "/python/tidemark/") != NULL || strstr(file, "-packages/tidemark/") != NULL;
}

/* Whether a file is tidemark's, or a header of CUDA or of C++. */
static bool is_aside(const char *file) {
    static const char *const PARTS[] = {"/include/c++/", "/cuda/include/", "-linux/include/",
                                        "/cuda_runtime.h"};
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (strstr(file, PARTS[i]) != NULL) {
            return true;
        }
    }
    return is_ours(file);
}

/* Whether a file is in a folder of tidemark that allocates, records, or runs the program's
 * commands. */
static bool is_tool(const char *file) {
    /* Recordings of older versions have run/, whose files are in model/run/ and programs/runs/. */
    static const char *const FOLDERS[] = {"allocator/",     "capture/",
                                          "cli/",           "common/",
                                          "device/",        "model/commands/",
                                          "model/run/",     "programs/live/",
                                          "programs/runs/", "programs/virtual_cuda/",
                                          "libtidemark_",   "recorder/",
                                          "run/",           "snapshot/",
                                          "stack/"};
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        if (starts_with(file, FOLDERS[i])) {
            return !tide_file_is_python(file);
        }
    }
    return false;
}

/* Whether a frame is of a program in C or C++ that was built with line tables. */
static bool is_native(const char *function, const char *file) {
    static const char *const ENTRIES[] = {"_start",
                                          "__libc_start_main",
                                          "__libc_start_call_main",
                                          "__libc_init_first",
                                          "start_thread",
                                          "__clone",
                                          "__clone3"};
    for (size_t i = 0; i < sizeof(ENTRIES) / sizeof(ENTRIES[0]); i++) {
        if (strcmp(ENTRIES[i], function) == 0) {
            return false;
        }
    }
    return file[0] != '\0' && strcmp(file, "??") != 0 && !starts_with(file, "/usr/");
}

/* Whether a file is Python code of PyTorch, of packages like it, or of tidemark, which calls
 * PyTorch's kernels: it is not specific. */
static bool is_python_of_plumbing(const char *file) {
    const char *package = package_of(file);
    return tide_file_is_python(file) &&
           (is_ours(file) || (package != NULL && is_plumbing(package)));
}

/* Frames that may represent a stack, best first; TIDE_NONE: none. */
typedef struct candidates {
    uint32_t library;  /* of a model's */
    uint32_t gradient; /* of an operation */
    uint32_t native;   /* if the stack has no Python */
    uint32_t outside;  /* of the allocator */
    bool has_python;   /* or its interpreter */
    bool is_plumbing;  /* every frame is */
} candidates;

/* The roles of a frame in its stack. */
enum {
    IS_USER = 1, /* then no other bit is set */
    IS_LIBRARY = 2,
    IS_GRADIENT = 4,
    IS_NATIVE = 8,
    IS_OUTSIDE = 16,
    HAS_PYTHON = 32,
    IS_PLUMBING = 64
};

static unsigned look_at(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    const char *function = tide_snapshot_text(snapshot, snapshot->frames[frame].function);
    if (tide_frame_is_user(snapshot, frame)) {
        return IS_USER;
    }
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    bool is_outside = !is_allocator(function) && !is_aside(file) && !is_tool(file);
    bool has_python = tide_file_is_python(file) || starts_with(function, "_PyEval_");
    return (has_python ? HAS_PYTHON : 0U) | (is_python_of_plumbing(file) ? IS_PLUMBING : 0U) |
           (is_outside && tide_frame_is_model_library(snapshot, frame) ? IS_LIBRARY : 0U) |
           (is_gradient(function) ? IS_GRADIENT : 0U) |
           (is_outside && is_native(function, file) ? IS_NATIVE : 0U) |
           (is_outside ? IS_OUTSIDE : 0U);
}

static void consider(uint32_t frame, unsigned bits, candidates *of) {
    of->has_python = of->has_python || (bits & HAS_PYTHON) != 0;
    of->is_plumbing = of->is_plumbing && (bits & IS_PLUMBING) != 0;
    if (of->library == TIDE_NONE && (bits & IS_LIBRARY) != 0) {
        of->library = frame;
    }
    if (of->gradient == TIDE_NONE && (bits & IS_GRADIENT) != 0) {
        of->gradient = frame;
    }
    if (of->native == TIDE_NONE && (bits & IS_NATIVE) != 0) {
        of->native = frame;
    }
    if (of->outside == TIDE_NONE && (bits & IS_OUTSIDE) != 0) {
        of->outside = frame;
    }
}

/* `bits_of`: look_at of each frame; NULL: computed here. */
static uint32_t find(const tide_snapshot *snapshot, uint32_t stack, const uint8_t *bits_of) {
    candidates of = {TIDE_NONE, TIDE_NONE, TIDE_NONE, TIDE_NONE, false, true};
    uint32_t innermost = stack != TIDE_NONE ? snapshot->stacks[stack].frame : TIDE_NONE;
    for (; stack != TIDE_NONE; stack = snapshot->stacks[stack].parent) {
        uint32_t frame = snapshot->stacks[stack].frame;
        unsigned bits = bits_of != NULL ? bits_of[frame] : look_at(snapshot, frame);
        if (bits == IS_USER) {
            return frame;
        }
        consider(frame, bits, &of);
    }
    return of.library != TIDE_NONE                    ? of.library
           : of.gradient != TIDE_NONE                 ? of.gradient
           : of.native != TIDE_NONE && !of.has_python ? of.native
           : innermost != TIDE_NONE && of.is_plumbing ? TIDE_NONE
           : of.outside != TIDE_NONE                  ? of.outside
                                                      : innermost;
}

uint32_t tide_user_frame(const tide_snapshot *snapshot, uint32_t stack) {
    return find(snapshot, stack, NULL);
}

static bool has_python(const tide_snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        if (ends_in_py(tide_snapshot_text(snapshot, snapshot->frames[i].file))) {
            return true;
        }
    }
    return false;
}

static tide_frame_kind kind_of(const tide_snapshot *snapshot, uint32_t frame, bool is_of_python) {
    char file[TIDE_PATH_TEXT];
    const char *function = tide_snapshot_text(snapshot, snapshot->frames[frame].function);
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    if (is_allocator(function) || is_aside(file) || (!is_of_python && is_tool(file))) {
        return TIDE_FRAME_TOOL;
    }
    bool is_user = is_of_python ? tide_frame_is_user(snapshot, frame) : is_native(function, file);
    return is_user ? TIDE_FRAME_USER : TIDE_FRAME_LIBRARY;
}

tide_status tide_frame_kinds_init(tide_frame_kinds *kinds, const tide_snapshot *snapshot,
                                  const tide_hostmem *mem) {
    bool is_of_python = has_python(snapshot);
    uint8_t *bits_of = tide_hostmem_array(mem, snapshot->n_frames, sizeof(*bits_of));
    *kinds = (tide_frame_kinds){.mem = mem};
    kinds->of_frame = tide_hostmem_array(mem, snapshot->n_frames, sizeof(*kinds->of_frame));
    kinds->of_stack = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*kinds->of_stack));
    if (bits_of == NULL || kinds->of_frame == NULL || kinds->of_stack == NULL) {
        mem->release(mem->ctx, bits_of);
        tide_frame_kinds_fini(kinds);
        return TIDE_NO_MEMORY;
    }
    for (uint32_t i = 0; i < snapshot->n_frames; i++) {
        kinds->of_frame[i] = (uint8_t)kind_of(snapshot, i, is_of_python);
        bits_of[i] = (uint8_t)look_at(snapshot, i);
    }
    for (uint32_t i = 0; i < snapshot->n_stacks; i++) {
        kinds->of_stack[i] = find(snapshot, i, bits_of);
    }
    mem->release(mem->ctx, bits_of);
    return TIDE_OK;
}

void tide_frame_kinds_fini(tide_frame_kinds *kinds) {
    if (kinds->mem != NULL) {
        kinds->mem->release(kinds->mem->ctx, kinds->of_frame);
        kinds->mem->release(kinds->mem->ctx, kinds->of_stack);
        *kinds = (tide_frame_kinds){.mem = kinds->mem};
    }
}

/* The start of the arguments of a C++ function; NULL: none. */
static const char *arguments_of(const char *function) {
    static const char NAMELESS[] = "(anonymous namespace)";
    const char *at = strchr(function, '(');
    while (at != NULL && starts_with(at, NAMELESS)) {
        at = strchr(at + sizeof(NAMELESS) - 1, '(');
    }
    return at;
}

/* Whether a part of a name is one that Python gives to code that has no name. */
static bool is_nameless(const char *part, size_t n_bytes) {
    static const char *const PARTS[] = {"<locals>",   "<module>",  "<lambda>", "<listcomp>",
                                        "<dictcomp>", "<setcomp>", "<genexpr>"};
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (strlen(PARTS[i]) == n_bytes && memcmp(part, PARTS[i], n_bytes) == 0) {
            return true;
        }
    }
    return false;
}

void tide_function_add(const char *function, tide_text *to) {
    const char *arguments = arguments_of(function);
    bool has_arguments = arguments != NULL && arguments > function;
    const char *end = has_arguments ? arguments : function + strlen(function);
    const char *joint = "";
    while (function < end) {
        const char *point = memchr(function, '.', (size_t)(end - function));
        size_t n = (size_t)((point != NULL ? point : end) - function);
        if (!is_nameless(function, n)) {
            tide_text_add(to, "%s%.*s", joint, (int)n, function);
            joint = ".";
        }
        function += point != NULL ? n + 1 : n;
    }
}

void tide_frame_text(const tide_snapshot *snapshot, uint32_t frame, char *ret_text, size_t n_room) {
    const tide_frame_row *row = &snapshot->frames[frame];
    char file[TIDE_PATH_TEXT];
    tide_text to = tide_text_in(ret_text, n_room);
    tide_path_text(tide_snapshot_text(snapshot, row->file), file);
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    bool has_line = row->line > 0 && name[0] != '\0';
    tide_function_add(tide_snapshot_text(snapshot, row->function), &to);
    if (!has_line) {
        tide_text_add(&to, "%s", ret_text[0] != '\0' ? "" : "?");
    } else if (ret_text[0] == '\0') {
        tide_text_add(&to, "%s:%d", name, (int)row->line);
    } else {
        tide_text_add(&to, " (%s:%d)", name, (int)row->line);
    }
}
