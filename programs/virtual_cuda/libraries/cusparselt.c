/* cusparselt.c - cuSPARSELt. Its descriptors lie in the program's memory and are read by the
 * library alone. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cusparselt.def"
