/* curand.c - cuRAND, for programs that call it themselves: PyTorch has its own generators. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/curand.def"
