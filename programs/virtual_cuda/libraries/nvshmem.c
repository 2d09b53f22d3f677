/* nvshmem.c - NVSHMEM. Everything is refused: a run has one process. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/nvshmem.def"
