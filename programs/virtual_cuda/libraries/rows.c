/* rows.c - the libraries of which this folder has rows only: each function that code has to answer
 * is in api/ or nccl/. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cudart.def"
/* Without the driver's functions that are refused, PyTorch would stop at the first that it cannot
 * find, rather than at the feature. */
#include "programs/virtual_cuda/libraries/driver.def"
#include "programs/virtual_cuda/libraries/nvml.def"
#include "programs/virtual_cuda/libraries/nccl.def"
/* Files reach the card through the host. */
#include "programs/virtual_cuda/libraries/cufile.def"
/* The profiler is accepted and records nothing, because nothing runs. */
#include "programs/virtual_cuda/libraries/cupti.def"
/* For programs that call it themselves: PyTorch has its own generators. */
#include "programs/virtual_cuda/libraries/curand.def"
/* Only the library knows its workspaces: their sizes read 0, which is reported as inexact. The
 * bounds follow LAPACK, whose workspaces are documented: a factorisation needs less than the
 * matrix, dsyevd 1 + 6 n + 2 n n values, dgesdd 4 n n + 7 n of the smaller side. */
#include "programs/virtual_cuda/libraries/cusolver.def"
/* Its descriptors are in the program's memory, and only the library reads them. */
#include "programs/virtual_cuda/libraries/cusparselt.def"
/* torchvision uses it for pictures on the card, which are not decoded. */
#include "programs/virtual_cuda/libraries/nvjpeg.def"
/* Symmetric memory of several processes is not simulated. */
#include "programs/virtual_cuda/libraries/nvshmem.def"
