/* driver.c - functions of the driver that need no C file: most are not simulated. Each of those
 * says so once and fails as it does on a card that has no such feature. Without them PyTorch would
 * stop at the first driver function that it cannot find, and not at the feature. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/driver.def"
