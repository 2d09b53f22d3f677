/* cards.h - the cards of the machine and their processes, as NVML reports them.
 *
 * The program nvidia-smi of a run on virtual cards reads everything through NVML, by name. The
 * preloaded virtual card answers, so all programs of the run see the same cards.
 */
#ifndef TIDE_VIRTUAL_CUDA_SMI_CARDS_H
#define TIDE_VIRTUAL_CUDA_SMI_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TIDE_SMI_CARDS = 64,
    TIDE_SMI_PROCESSES = 256,
    TIDE_SMI_NAME_BYTES = 96,
    TIDE_SMI_ID_BYTES = 96,
    TIDE_SMI_VERSION_BYTES = 32,
    TIDE_SMI_PATH_BYTES = 512
};

/* A process with a context on a card. */
typedef struct tide_smi_process {
    unsigned pid;
    uint64_t used_bytes;
    char name[TIDE_SMI_PATH_BYTES]; /* as it was started; "[Not Found]" if it has ended */
} tide_smi_process;

typedef struct tide_smi_card {
    unsigned number;
    char name[TIDE_SMI_NAME_BYTES];
    char uuid[TIDE_SMI_ID_BYTES];
    char bus[TIDE_SMI_ID_BYTES];                  /* "00000000:01:00.0" */
    uint64_t total_bytes, free_bytes, used_bytes; /* total_bytes 0: of the host's memory, unknown */
    int major, minor;                             /* compute capability */
    size_t n_processes;
    tide_smi_process processes[TIDE_SMI_PROCESSES];
} tide_smi_card;

typedef struct tide_smi_machine {
    char driver[TIDE_SMI_VERSION_BYTES]; /* "580.00" */
    char nvml[TIDE_SMI_VERSION_BYTES];
    char cuda[TIDE_SMI_VERSION_BYTES]; /* "13.0" */
    size_t n_cards;
    tide_smi_card cards[TIDE_SMI_CARDS];
} tide_smi_machine;

/* False: there is no NVML, or it has no card. The machine is large: keep it off the stack. */
bool tide_smi_read(tide_smi_machine *ret);

#endif
