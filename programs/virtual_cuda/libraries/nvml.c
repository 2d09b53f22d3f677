/* nvml.c - functions of NVML that are not simulated, as in driver.c. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/nvml.def"
