/* cudart.c - functions of the CUDA runtime that are rows of the table. The others are in
 * programs/virtual_cuda/api/. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cudart.def"
