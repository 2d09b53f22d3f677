/* cards.h - figures of real cards, for the virtual device: bytes as the driver reports them, the
 * size of context and libraries, the workspace of the GEMM library, and the processor and the
 * memory of the board; each with its source. An unpublished figure is -1. device/chips.h has the
 * figures that all cards of one compute capability share.
 */
#ifndef TIDE_DEVICE_CARDS_H
#define TIDE_DEVICE_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The properties that the runtime reports besides the card's bytes. Cards of one name can differ in
 * their clocks; these are those of the report that `source` names. */
typedef struct tide_card_board {
    int n_multiprocessors; /* streaming multiprocessors */
    int sm_clock_khz;      /* their highest clock; -1: not known */
    int memory_clock_khz;  /* the memory's highest clock, half its transfers per second; -1: not
                              known */
    int memory_bus_bits;   /* width of the memory's bus; -1: not known */
    int64_t cache_bytes;   /* L2 cache; -1: not known */
    int pci_device_id;     /* the vendor's number of the product, 0x2330; -1: not known */
    int is_ecc_on;         /* whether memory error correction was on in that report: 1, 0; -1: not
                              known */
    const char *source; /* for people. pci_device_id is from NVIDIA's list of the products that its
                           open kernel modules support, or else from the PCI ID database; of a
                           product with several numbers, this is one */
} tide_card_board;

typedef struct tide_card {
    const char *name;             /* as in "virtual:NAME" */
    const char *spec;             /* the spec that opens a virtual device with it: "virtual:NAME" */
    const char *other_name;       /* another accepted name; NULL: none */
    const char *title;            /* as the driver names the card */
    int64_t total_bytes;          /* device memory as the runtime reports it */
    int64_t context_bytes;        /* context and libraries before the first allocation; -1: not
                                     measured */
    bool shares_host;             /* its memory is the host's, too: what programs take of the host,
                                     the card lacks, and the driver calls it integrated */
    bool reads_host;              /* it reads all of the host's memory by the host's page tables */
    size_t workspace_bytes;       /* cuBLAS workspace, allocated from the cache */
    int compute_capability;       /* 90 for 9.0 */
    const char *total_source;     /* the source of total_bytes, for people */
    const char *context_source;   /* the source of context_bytes, or "not measured" */
    const char *workspace_source; /* the source of workspace_bytes */
    tide_card_board board;
} tide_card;

/* The table. It is static. */
const tide_card *tide_cards(size_t *ret_n_cards);

/* The names of the table one after the other, for common/text/nearest.h; NULL after the last. ctx
 * is not used. */
const char *tide_card_name_at(const void *ctx, size_t i);

/* The card of that name. A beginning up to a dash that only one name has is enough ("t4" is t4-16),
 * "h100-80GB" is h100-80, and case does not matter. NULL if no card or more than one matches. */
const tide_card *tide_card_find(const char *name);

/* Whether `written` is the name up to a dash: "a100" begins a100-80, and "l4" does not begin
 * l40s-48.
 */
bool tide_card_is_begun(const tide_card *card, const char *written);

/* The context of a card that was not measured may be this large: of 23 published boundaries on an
 * RTX 3090 (the largest batch that fits), programs that left 1,082 and 1,471 MiB without it failed,
 * and one that left 1,014 MiB fitted. Less than this left is no safe answer. */
#define TIDE_CONTEXT_MARGIN_BYTES (INT64_C(1536) << 20)

/* An estimate of the context of a card that was not measured: that of the measured card of its
 * compute capability whose number of multiprocessors is nearest. NULL: there is none, or the card
 * itself was measured. */
const tide_card *tide_card_with_like_context(const tide_card *card);

/* The workspace that cuBLAS gets from the cache on a card of that compute capability (90 for 9.0),
 * the same as in PyTorch: 32 MiB on 9.0, 8,519,680 bytes on all others. */
size_t tide_card_workspace_bytes(int compute_capability);

#ifdef __cplusplus
}
#endif

#endif
