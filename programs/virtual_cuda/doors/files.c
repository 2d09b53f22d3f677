#include "programs/virtual_cuda/doors/files.h"

#include <stddef.h>
#include <string.h>

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Whether the rest of a file's name follows a library's: ".so", ".so.13", "-1a2b3c4d.so.12". */
static bool is_ending(const char *rest) {
    const char *dot = rest[0] == '-' ? strchr(rest, '.') : rest;
    return dot != NULL && strncmp(dot, ".so", 3) == 0 && (dot[3] == '\0' || dot[3] == '.');
}

static bool is_file_of(const char *path, const char *const *names, size_t n_names) {
    const char *base = base_of(path);
    bool is = false;
    for (size_t i = 0; i < n_names; i++) {
        size_t n = strlen(names[i]);
        is = is || (strncmp(base, names[i], n) == 0 && is_ending(base + n));
    }
    return is;
}

/* cuDNN has a library of its own for each part: libcudnn_graph.so.9. */
static bool is_part_of_cudnn(const char *path) {
    static const char PREFIX[] = "libcudnn_";
    const char *base = base_of(path);
    const char *dot = strchr(base, '.');
    return strncmp(base, PREFIX, sizeof(PREFIX) - 1) == 0 && dot != NULL && is_ending(dot);
}

bool tide_vc_is_nvidia_file(const char *path) {
    static const char *const NAMES[] = {
        "libcudart",     "libcuda",     "libnvidia-ml",   "libcublas", "libcublasLt",
        "libcudnn",      "libcufft",    "libcufftw",      "libcurand", "libcusolver",
        "libcusolverMg", "libcusparse", "libcusparseLt",  "libnccl",   "libcupti",
        "libcufile",     "libnvjpeg",   "libnvshmem_host"};
    return is_file_of(path, NAMES, sizeof(NAMES) / sizeof(NAMES[0])) || is_part_of_cudnn(path);
}

bool tide_vc_is_driver_file(const char *path) {
    static const char *const NAMES[] = {"libcuda", "libnvidia-ml"};
    return is_file_of(path, NAMES, sizeof(NAMES) / sizeof(NAMES[0]));
}

bool tide_vc_is_own_file(const char *path) {
    static const char PREFIX[] = "libtidemark_";
    return strncmp(base_of(path), PREFIX, sizeof(PREFIX) - 1) == 0;
}
