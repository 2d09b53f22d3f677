/* nccl.c - NCCL's functions that are rows of the table. The others are in
 * programs/virtual_cuda/nccl/. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/nccl.def"
