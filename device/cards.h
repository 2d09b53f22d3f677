/* cards.h - figures of real cards, for the virtual device: bytes as the driver reports them, what
 * context and libraries take, and the workspace of the GEMM library; each with its source.
 */
#ifndef TIDE_DEVICE_CARDS_H
#define TIDE_DEVICE_CARDS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_card {
    const char *name;             /* as in "virtual:NAME" */
    const char *spec;             /* what opens a virtual device with it: "virtual:NAME" */
    const char *other_name;       /* another accepted name; NULL: none */
    const char *title;            /* as the driver names the card */
    int64_t total_bytes;          /* device memory as the runtime reports it */
    int64_t context_bytes;        /* context and libraries before the first allocation; -1: not
                                     measured */
    size_t workspace_bytes;       /* cuBLAS workspace, taken from the cache */
    int compute_capability;       /* 90 for 9.0 */
    const char *total_source;     /* where total_bytes comes from; for people */
    const char *context_source;   /* the same of context_bytes, or "not measured" */
    const char *workspace_source; /* the same of workspace_bytes */
} tide_card;

/* The table, which is static. */
const tide_card *tide_cards(size_t *ret_n_cards);

/* NULL when there is no card of that name. */
const tide_card *tide_card_find(const char *name);

/* The workspace that the cache gives cuBLAS on a card of that compute capability (90 for 9.0), the
 * same as in PyTorch: 32 MiB on 9.0, 8,519,680 bytes on all others. */
size_t tide_card_workspace_bytes(int compute_capability);

#ifdef __cplusplus
}
#endif

#endif
