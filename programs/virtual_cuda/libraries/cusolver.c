/* cusolver.c - cuSOLVER. Its work areas are known to the library alone: their sizes read 0, and
 * that is said. The bounds go by LAPACK, whose own work areas are documented: a factorisation takes
 * less than the matrix, dsyevd 1 + 6 n + 2 n n values, dgesdd 4 n n + 7 n of the smaller side. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cusolver.def"
