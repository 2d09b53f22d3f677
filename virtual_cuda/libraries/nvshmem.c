/* nvshmem.c - NVSHMEM. Everything is refused: a run has one process. */
#include "virtual_cuda/libraries/stub_internal.h"

#include "virtual_cuda/libraries/nvshmem.def"
