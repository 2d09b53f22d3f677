/* nvidia_library.c - in place of one of NVIDIA's libraries: functions with their names, which only
 * say that they were reached. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

enum { REACHED = 4242 };

#define FUNCTION(name)                                                                             \
    int name(void);                                                                                \
    int name(void) {                                                                               \
        return REACHED;                                                                            \
    }

FUNCTION(cudaMalloc)
FUNCTION(cudaGetDeviceCount)
FUNCTION(cublasCreate_v2)
FUNCTION(cublasGetVersion_v2)
FUNCTION(cudnnCreate)
FUNCTION(cudnnGetVersion)
FUNCTION(cusparseSpGEMM_copy)
FUNCTION(ncclCommInitRank)
FUNCTION(cuInit)
FUNCTION(cuMemAlloc_v2)
FUNCTION(nvmlInit_v2)
FUNCTION(nvrtcVersion)
FUNCTION(cudaNoSuchFunction)

// NOLINTBEGIN(readability-identifier-naming): names of NVIDIA's
bool cudnnProbe(void);

/* As cuDNN finds its parts: by a name that does not exist, then by one that does. */
bool cudnnProbe(void) {
    return dlopen("libcudnn_graph.so.9.24.0", RTLD_NOW) == NULL &&
           dlopen("libcudnn_graph.so.9", RTLD_NOW) != NULL;
}
// NOLINTEND(readability-identifier-naming)
