#define _GNU_SOURCE /* pthread_getattr_np */
#include "programs/virtual_cuda/process/stack_bounds.h"

#include <pthread.h>
#include <stddef.h>

uintptr_t tide_vc_stack_end(void) {
    static _Thread_local uintptr_t end;
    pthread_attr_t attributes;
    if (end == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *begin = NULL;
        size_t n_bytes = 0;
        if (pthread_attr_getstack(&attributes, &begin, &n_bytes) == 0) {
            end = (uintptr_t)begin + n_bytes;
        }
        pthread_attr_destroy(&attributes);
    }
    return end;
}
