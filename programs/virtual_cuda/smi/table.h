/* table.h - the output of nvidia-smi without options: a table of the cards and of their processes.
 */
#ifndef TIDE_VIRTUAL_CUDA_SMI_TABLE_H
#define TIDE_VIRTUAL_CUDA_SMI_TABLE_H

#include <stdio.h>

#include "programs/virtual_cuda/smi/cards.h"

/* `chosen`: by card, whether it is printed. */
void tide_smi_table(const tide_smi_machine *machine, const bool *chosen, FILE *to);

#endif
