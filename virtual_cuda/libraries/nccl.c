/* nccl.c - NCCL's functions that are rows of the table. The others lie in virtual_cuda/nccl/. */
#include "virtual_cuda/libraries/stub_internal.h"

#include "virtual_cuda/libraries/nccl.def"
