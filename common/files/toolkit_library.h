/* toolkit_library.h - finds libraries that come with the CUDA toolkit or with PyTorch, and that are
 * opened only when needed.
 */
#ifndef TIDE_COMMON_TOOLKIT_LIBRARY_H
#define TIDE_COMMON_TOOLKIT_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the library of that name, such as "libcublas.so.13": the loader's choice, or else the first
 * that can be opened at the places below. NULL if none can. The caller may close it. */
void *tide_toolkit_library_open(const char *file);

/* The places, for messages. */
#define TIDE_TOOLKIT_LIBRARY_PLACES                                                                \
    "lib64, lib and extras/CUPTI/lib64 of CUDA_HOME, CUDA_PATH, /usr/local/cuda, "                 \
    "/usr/local/cuda-*, "                                                                          \
    "/opt/cuda, nvidia/*/lib among the python packages of VIRTUAL_ENV, CONDA_PREFIX, PATH, "       \
    "~/.local and the system"

#ifdef __cplusplus
}
#endif

#endif
