/* user_objects.c - objects of the program that a graph keeps alive. */
#include <stdatomic.h>
#include <stdlib.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/process/host_failure.h"

typedef struct user_object {
    void *data;
    void (*destroy)(void *data);
    atomic_uint n_uses;
} user_object;

TIDE_VC_EXPORT int cudaUserObjectCreate(void **ret_object, void *data, void (*destroy)(void *),
                                        unsigned n_uses, unsigned flags) {
    (void)flags;
    user_object *made = malloc(sizeof(*made));
    if (made == NULL) {
        return tide_vc_fail(tide_vc_host_failed("an object of a graph"));
    }
    made->data = data;
    made->destroy = destroy;
    atomic_init(&made->n_uses, n_uses);
    *ret_object = made;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaUserObjectRelease(void *object, unsigned n_uses) {
    user_object *of = object;
    if (atomic_fetch_sub(&of->n_uses, n_uses) == n_uses) {
        of->destroy(of->data);
        free(of);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaUserObjectRetain(void *object, unsigned n_uses) {
    atomic_fetch_add(&((user_object *)object)->n_uses, n_uses);
    return TIDE_VC_OK;
}

/* The graph's uses end here; see cudaGraphRetainUserObject. */
TIDE_VC_EXPORT int cudaGraphReleaseUserObject(void *graph, void *object, unsigned n_uses) {
    (void)graph;
    return cudaUserObjectRelease(object, n_uses);
}

/* With the flag cudaGraphUserObjectMove (1) the graph takes over a use of the caller. The graph
 * never releases it here, so its data live as long as the process. */
TIDE_VC_EXPORT int cudaGraphRetainUserObject(void *graph, void *object, unsigned n_uses,
                                             unsigned flags) {
    (void)graph;
    user_object *of = object;
    if ((flags & 1) == 0) {
        atomic_fetch_add(&of->n_uses, n_uses);
    }
    return TIDE_VC_OK;
}
