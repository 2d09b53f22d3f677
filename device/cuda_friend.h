/* cuda_friend.h - shared by the files of the cuda device and the operators in model/ops_cuda. It
 * needs no header of the toolkit: a cudaError_t passes as an int.
 */
#ifndef TIDE_DEVICE_CUDA_FRIEND_H
#define TIDE_DEVICE_CUDA_FRIEND_H

#include <pthread.h>

#include "device/device_friend.h"

#ifndef TIDEMARK_HAVE_CUDA
#define TIDEMARK_HAVE_CUDA 0
#endif

#define TIDE_DEVICE_CUDA_REMEDY "use cpu, or virtual:CARD for the memory of a card"

#ifdef __cplusplus
extern "C" {
#endif

/* Entry points of the driver (cuda_virtual.c). */
typedef struct tide_device_cuda_driver tide_device_cuda_driver;

typedef struct tide_device_cuda {
    tide_device base;       /* first, so that a tide_device * is a tide_device_cuda * */
    int ordinal;            /* its number in the runtime */
    pthread_mutex_t lock;   /* guards the members below except is_lost */
    atomic_bool is_lost;    /* for good */
    int cause;              /* cudaError_t of the call that lost the device */
    const char *cause_call; /* static; name of that call */
    tide_device_event
        *spare; /* destroyed events, to be reused: creating one is a driver call; owned */
    tide_device_cuda_driver *driver; /* owned; NULL: not looked up yet */
} tide_device_cuda;

/* NULL if `device` is of another kind. Also accepts a device that only passes calls on to a cuda
 * device. */
tide_device_cuda *tide_device_cuda_of(tide_device *device);

/* Whether there is such a GPU; writes the versions of driver and runtime into `info`.
 * TIDE_DEVICE_ABSENT explains why not, and the remedy. */
TIDE_NODISCARD tide_status tide_device_cuda_find(int ordinal, tide_device_info *info,
                                                 tide_error *error);
/* Fills in name, memory, compute capability, clocks and the GEMM library's workspace. */
TIDE_NODISCARD tide_status tide_device_cuda_read_properties(tide_device_cuda *cuda,
                                                            tide_error *error);

/* To be called before every runtime call. Fails on a lost device, and makes the device the calling
 * thread's current one, since the thread or the program may have chosen another meanwhile. */
TIDE_NODISCARD tide_status tide_device_cuda_begin(tide_device_cuda *cuda, tide_error *error);

/* To be called before launches on GPU `ordinal`, whose device is open: makes it the calling
 * thread's current one. Costs only a branch if this or a device call did so last; it does not
 * notice a program that calls cudaSetDevice itself. Reports no failure, because the launch then
 * fails in the same way. */
void tide_device_cuda_make_current(int ordinal);

/* Turns the result of a runtime call or a launch (a cudaError_t) into a status; `call` is for
 * people and static: "cudaMalloc", "swiglu_forward". Clears the runtime's last error, which the
 * next check would find again. An error that ends the context makes the device lost: from then on
 * all its calls return TIDE_DEVICE_LOST and name this cause. `device` may be one that only passes
 * calls on to a cuda device. */
TIDE_NODISCARD tide_status tide_device_cuda_answer(tide_device *device, const char *call,
                                                   int result, tide_error *error);

/* cuda_virtual.c. Members of the device's table. */
TIDE_NODISCARD tide_status tide_device_cuda_map_granule(tide_device *device, size_t *ret_bytes,
                                                        tide_error *error);
TIDE_NODISCARD tide_status tide_device_cuda_reserve(tide_device *device, size_t n_bytes,
                                                    uint64_t *ret_address, tide_error *error);
TIDE_NODISCARD tide_status tide_device_cuda_unreserve(tide_device *device, uint64_t address,
                                                      size_t n_bytes, tide_error *error);
TIDE_NODISCARD tide_status tide_device_cuda_map(tide_device *device, uint64_t address,
                                                size_t n_bytes, size_t granule_bytes,
                                                tide_error *error);
TIDE_NODISCARD tide_status tide_device_cuda_unmap(tide_device *device, uint64_t address,
                                                  size_t granule_bytes, tide_error *error);

/* cuda_graph.c. The same. */
TIDE_NODISCARD tide_status tide_device_cuda_graph_begin(tide_device *device, tide_stream stream,
                                                        tide_error *error);
TIDE_NODISCARD tide_status tide_device_cuda_graph_end(tide_device *device, tide_stream stream,
                                                      tide_graph *ret_graph, tide_error *error);
TIDE_NODISCARD tide_status tide_device_cuda_graph_launch(tide_device *device, tide_graph graph,
                                                         tide_stream stream, tide_error *error);
void tide_device_cuda_graph_destroy(tide_device *device, tide_graph graph);

/* Bytes in use on the GPU with that PCI bus id, by all processes, as the driver's management
 * library (libnvidia-ml.so.1, opened for this call) sees them; -1 if it cannot report them. */
int64_t tide_device_cuda_used_bytes(const char *pci_bus_id);

#ifdef __cplusplus
}
#endif

#endif
