/* torch_version.h - the PyTorch version of a Python, without loading PyTorch, and whether the
 * virtual card supports it. */
#ifndef TIDE_LAUNCH_TORCH_VERSION_H
#define TIDE_LAUNCH_TORCH_VERSION_H

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_torch {
    char python[4096]; /* path of the interpreter */
    char folder[4096]; /* of the package; "" if this Python has none */
    char version[64];  /* "2.14.1+cu130" */
    char cuda[32];     /* the CUDA version it was built for, "13.0"; "" if none */
    char rocm[32];     /* likewise for AMD's ROCm */
} tide_torch;

/* Asks a Python for PyTorch's folder, and reads the version there; PyTorch is not loaded. `python`:
 * a path, or a name to search in PATH; NULL: that of $VIRTUAL_ENV, or else python3. TIDE_INVALID:
 * there is no such program, or it does not answer like a Python within ten seconds. TIDE_OK with an
 * empty folder: it has no PyTorch. */
TIDE_NODISCARD tide_status tide_torch_find(const char *python, tide_torch *ret_torch,
                                           tide_error *error);

/* Reads the version of the PyTorch in that folder, from its version.py. TIDE_FORMAT: the file is
 * missing, or names no version. */
TIDE_NODISCARD tide_status tide_torch_read(const char *folder, tide_torch *ret_torch,
                                           tide_error *error);

/* TIDE_UNSUPPORTED, with one line that has the reason and the remedy, if the virtual card does not
 * support this version. */
TIDE_NODISCARD tide_status tide_torch_check(const tide_torch *torch, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
