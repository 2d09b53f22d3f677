/* driver.c - functions of the driver that need no C file: most are not simulated. Each of those
 * reports it once and fails as on a card without the feature. Without them PyTorch would stop at
 * the first driver function that it cannot find, rather than at the feature. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/driver.def"
