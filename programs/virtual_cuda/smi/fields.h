/* fields.h - the fields of --query-gpu and --query-compute-apps.
 *
 * A figure that no virtual card has, such as a temperature, is "[N/A]", as on a card that does not
 * measure it. Fields that NVIDIA's program does not have are unknown here also.
 */
#ifndef TIDE_VIRTUAL_CUDA_SMI_FIELDS_H
#define TIDE_VIRTUAL_CUDA_SMI_FIELDS_H

#include <stdbool.h>
#include <stdio.h>

#include "programs/virtual_cuda/smi/cards.h"

typedef struct tide_smi_field tide_smi_field; /* static */

/* `of_processes`: a field of --query-compute-apps. NULL if there is no field of that name. */
const tide_smi_field *tide_smi_field_find(const char *name, bool of_processes);

/* "memory.used [MiB]": the head of a column, with the name that the user gave. */
void tide_smi_field_head(const tide_smi_field *field, const char *name, FILE *to);

/* The value of a card, or of one of its processes; NULL for a field of cards. */
void tide_smi_field_value(const tide_smi_field *field, const tide_smi_machine *machine,
                          const tide_smi_card *card, const tide_smi_process *process,
                          bool with_unit, FILE *to);

#endif
