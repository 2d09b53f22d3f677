#include "fake_cudart/fake_copies.h"

#include <stdlib.h>
#include <string.h>

typedef struct late_copy {
    struct late_copy *next; /* younger; owned list */
    void *dst;              /* borrowed */
    const void *src;        /* borrowed; NULL: `bytes` have been read already */
    size_t n_bytes;
    unsigned char bytes[]; /* n_bytes of a copy to the host */
} late_copy;

/* Guarded by the runtime's lock. */
static late_copy *oldest;

static void carry_out(bool to_host_too) {
    late_copy **link = &oldest;
    while (*link != NULL) {
        late_copy *copy = *link;
        if (copy->src == NULL && !to_host_too) {
            link = &copy->next;
            continue;
        }
        memcpy(copy->dst, copy->src == NULL ? copy->bytes : copy->src, copy->n_bytes);
        *link = copy->next;
        free(copy);
    }
}

bool tide_fake_copies_add(void *dst, const void *src, size_t n_bytes, bool to_host) {
    carry_out(false); /* a stream's copies are done in their order */
    late_copy *copy = malloc(sizeof(*copy) + (to_host ? n_bytes : 0));
    late_copy **link = &oldest;
    if (copy == NULL) {
        return false;
    }
    *copy = (late_copy){.dst = dst, .src = to_host ? NULL : src, .n_bytes = n_bytes};
    if (to_host) {
        memcpy(copy->bytes, src, n_bytes);
        memset(dst, 0xFF, n_bytes);
    }
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = copy;
    return true;
}

void tide_fake_copies_submit(void) {
    carry_out(false);
}

void tide_fake_copies_finish(void) {
    carry_out(true);
}

void tide_fake_copies_clear(void) {
    while (oldest != NULL) {
        late_copy *copy = oldest;
        oldest = copy->next;
        free(copy);
    }
}
