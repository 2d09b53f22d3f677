/* nvshmem.c - NVSHMEM. Everything is refused: symmetric memory of several processes is not
 * simulated. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/nvshmem.def"
