/* cusolver.c - cuSOLVER. Its work areas are known to the library alone: their sizes read 0, and
 * that is said. */
#include "virtual_cuda/libraries/stub_internal.h"

#include "virtual_cuda/libraries/cusolver.def"
