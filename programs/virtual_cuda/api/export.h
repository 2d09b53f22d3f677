/* export.h - how the virtual card offers a function of NVIDIA's libraries.
 *
 * The library is built with hidden visibility. TIDE_VC_EXPORT marks the functions that a program
 * may find by name: those of the CUDA runtime, the driver, NVML and the libraries above them, with
 * the names and calling conventions of NVIDIA's headers. Those headers are not included, because
 * one object serves CUDA 12 and 13; tests compare the layouts and numbers used here with the
 * headers.
 */
#ifndef TIDE_VIRTUAL_CUDA_EXPORT_H
#define TIDE_VIRTUAL_CUDA_EXPORT_H

#define TIDE_VC_EXPORT __attribute__((visibility("default")))

/* These functions have their prototypes in NVIDIA's headers. */
#ifndef __cplusplus
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#endif

#endif
