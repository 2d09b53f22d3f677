/* eh_frame_internal.h - reads from .eh_frame where the caller's frame is, for one return address on
 * x86-64.
 *
 * The section is read in place, in the memory of the process, because its pointers may be relative
 * to their own addresses. This reader understands what compilers emit for ordinary code: the
 * caller's frame (the CFA) at a constant distance from rsp or rbp, the return address directly
 * below it, and rbp either untouched or saved at a constant distance from it. Everything else is
 * TIDE_UNWIND_OTHER, which libunwind handles: signal frames, DWARF expressions, other registers,
 * malformed bytes. Nothing outside of the section is read. docs/decisions/0008 explains why this
 * reader exists.
 */
#ifndef TIDE_STACK_EH_FRAME_INTERNAL_H
#define TIDE_STACK_EH_FRAME_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_unwind_kind {
    TIDE_UNWIND_NONE = 0, /* nothing known yet */
    TIDE_UNWIND_RSP,      /* CFA = rsp + cfa_offset */
    TIDE_UNWIND_RBP,      /* CFA = rbp + cfa_offset */
    TIDE_UNWIND_END,      /* the outermost frame: it has no caller */
    TIDE_UNWIND_OTHER     /* more than this reader understands */
} tide_unwind_kind;

/* How to get from a frame to its caller: the return address is at CFA - 8, and the CFA is the value
 * of rsp in the caller after the return. */
typedef struct tide_unwind_rule {
    tide_unwind_kind kind;
    int32_t cfa_offset; /* bytes */
    bool saves_rbp;     /* false: the register still holds the caller's rbp */
    int32_t rbp_offset; /* bytes from the CFA to the saved rbp */
} tide_unwind_rule;

/* Bytes that may be read, such as a loaded segment. */
typedef struct tide_byte_range {
    const uint8_t *begin; /* borrowed */
    const uint8_t *end;   /* one past the last */
} tide_byte_range;

/* The rule for the instruction at `pc`, taken from the frame description entry at `fde`. For a
 * return address pass the address minus 1: the call may be the last instruction of its function,
 * and then the return address belongs to the next one. */
tide_unwind_rule tide_eh_frame_rule(tide_byte_range section, const uint8_t *fde, uint64_t pc);

/* The entry that the sorted table of .eh_frame_hdr names for `pc`: the last one that begins at or
 * before it. It may end before `pc`; tide_eh_frame_rule checks that. NULL if it is missing, or the
 * table is not in the format that linkers write. `section` holds both the header and the
 * entries. */
const uint8_t *tide_eh_frame_find(tide_byte_range section, const uint8_t *header, uint64_t pc);

#ifdef __cplusplus
}
#endif

#endif
