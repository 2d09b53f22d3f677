/* cupti.c - CUPTI. The profiler is accepted and records nothing, because nothing runs. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cupti.def"
