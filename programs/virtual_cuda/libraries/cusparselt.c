/* cusparselt.c - cuSPARSELt. Its descriptors are in the program's memory, and only the library
 * reads them. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cusparselt.def"
