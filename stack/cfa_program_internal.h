/* cfa_program_internal.h - runs the instructions of a frame description entry (DW_CFA_*), and reads
 * the numbers in such an entry.
 */
#ifndef TIDE_STACK_CFA_PROGRAM_INTERNAL_H
#define TIDE_STACK_CFA_PROGRAM_INTERNAL_H

#include "stack/eh_frame_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DWARF's numbers of registers on x86-64. */
enum { TIDE_CFA_RBP = 6, TIDE_CFA_RSP = 7, TIDE_CFA_RETURN_ADDRESS = 16 };

/* Reads forwards. Beyond the end, every number is 0 and the reader becomes bad, so a caller may
 * check once after several reads. */
typedef struct tide_cfa_reader {
    const uint8_t *next; /* borrowed */
    const uint8_t *end;
    bool is_bad; /* something was missing or malformed */
} tide_cfa_reader;

/* A little-endian number of 1..8 bytes. */
uint64_t tide_cfa_read(tide_cfa_reader *reader, size_t n_bytes);
/* LEB128 numbers, unsigned and signed. */
uint64_t tide_cfa_read_uleb(tide_cfa_reader *reader);
int64_t tide_cfa_read_sleb(tide_cfa_reader *reader);
void tide_cfa_skip(tide_cfa_reader *reader, uint64_t n_bytes);

typedef struct tide_cfa_program {
    tide_byte_range common; /* instructions of the CIE */
    tide_byte_range own;    /* then those of the FDE */
    uint64_t code_alignment;
    int64_t data_alignment;
    uint64_t n_code_bytes; /* from the start of the function to the requested instruction */
} tide_cfa_program;

/* The rule for one instruction of the function; TIDE_UNWIND_OTHER if the program is malformed or
 * does not fit in a rule. */
tide_unwind_rule tide_cfa_run(const tide_cfa_program *program);

#ifdef __cplusplus
}
#endif

#endif
