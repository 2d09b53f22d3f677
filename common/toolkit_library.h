/* toolkit_library.h - libraries that come with the CUDA toolkit or with PyTorch and are opened only
 * when they are needed: where their files are looked for.
 */
#ifndef TIDE_COMMON_TOOLKIT_LIBRARY_H
#define TIDE_COMMON_TOOLKIT_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

/* The file of that name, "libcublas.so.13", where the loader finds it, or else in the first of the
 * places below that has one which can be opened; NULL: nowhere. Never to be closed by others than
 * the caller. */
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
