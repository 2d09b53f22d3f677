/* files.h - recognizes NVIDIA's libraries and functions by their names. */
#ifndef TIDE_VIRTUAL_CUDA_FILES_H
#define TIDE_VIRTUAL_CUDA_FILES_H

#include <stdbool.h>

/* The last part of a path, which is borrowed. */
const char *tide_vc_file_name(const char *path);

/* The functions below take a path or a bare name, not NULL. */

/* Whether the path is one of NVIDIA's libraries that the card serves. Repaired wheels add a hash to
 * the name: libcudart-1a2b3c4d.so.12. */
bool tide_vc_is_nvidia_file(const char *path);

/* The driver's library or NVML, which the card's own object replaces. */
bool tide_vc_is_driver_file(const char *path);

/* The CUDA runtime, by the beginning of its name. */
bool tide_vc_is_runtime_file(const char *path);

/* One of our preloaded objects. */
bool tide_vc_is_own_file(const char *path);

#endif
