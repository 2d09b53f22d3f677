#include "programs/virtual_cuda/doors/files.h"

#include <stddef.h>
#include <string.h>

const char *tide_vc_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool begins(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

/* Whether the rest of a file's name follows a library's: ".so", ".so.13". */
static bool is_ending(const char *rest) {
    return strncmp(rest, ".so", 3) == 0 && (rest[3] == '\0' || rest[3] == '.');
}

/* The same with a hash in between: "-1a2b3c4d.so.12". */
static bool is_ending_with_hash(const char *rest) {
    size_t n = rest[0] == '-' ? strspn(rest + 1, "0123456789abcdef") : 0;
    return is_ending(rest + (n > 0 ? n + 1 : 0));
}

static bool is_file_of(const char *path, const char *const *names, size_t n_names,
                       bool (*is_rest)(const char *rest)) {
    const char *base = tide_vc_file_name(path);
    bool is = false;
    for (size_t i = 0; i < n_names; i++) {
        size_t n = strlen(names[i]);
        is = is || (strncmp(base, names[i], n) == 0 && is_rest(base + n));
    }
    return is;
}

/* cuDNN has a library of its own for each part: libcudnn_graph.so.9. */
static bool is_part_of_cudnn(const char *path) {
    const char *base = tide_vc_file_name(path);
    const char *dot = strchr(base, '.');
    return begins(base, "libcudnn_") && dot != NULL && is_ending(dot);
}

bool tide_vc_is_nvidia_file(const char *path) {
    static const char *const NAMES[] = {
        "libcudart",     "libcuda",     "libnvidia-ml",   "libcublas", "libcublasLt",
        "libcudnn",      "libcufft",    "libcufftw",      "libcurand", "libcusolver",
        "libcusolverMg", "libcusparse", "libcusparseLt",  "libnccl",   "libcupti",
        "libcufile",     "libnvjpeg",   "libnvshmem_host"};
    return is_file_of(path, NAMES, sizeof(NAMES) / sizeof(NAMES[0]), is_ending_with_hash) ||
           is_part_of_cudnn(path);
}

bool tide_vc_is_driver_file(const char *path) {
    static const char *const NAMES[] = {"libcuda", "libnvidia-ml"};
    return is_file_of(path, NAMES, sizeof(NAMES) / sizeof(NAMES[0]), is_ending);
}

bool tide_vc_is_runtime_file(const char *path) {
    return begins(tide_vc_file_name(path), "libcudart");
}

bool tide_vc_is_own_file(const char *path) {
    return begins(tide_vc_file_name(path), "libtidemark_");
}
