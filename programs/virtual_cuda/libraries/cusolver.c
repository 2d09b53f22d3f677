/* cusolver.c - cuSOLVER. Only the library knows its workspaces: their sizes read 0, which is
 * reported as inexact. The bounds follow LAPACK, whose workspaces are documented: a factorisation
 * needs less than the matrix, dsyevd 1 + 6 n + 2 n n values, dgesdd 4 n n + 7 n of the smaller
 * side. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cusolver.def"
