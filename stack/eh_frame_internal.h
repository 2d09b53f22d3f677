/* eh_frame_internal.h - what .eh_frame says of one return address on x86-64: where the caller's
 * frame lies.
 *
 * The bytes are read as they lie in memory, so encoded pointers relative to themselves come out
 * right. Only what compilers write for ordinary code is known: the caller's frame (the CFA) at a
 * distance from rsp or rbp, the return address just below it, rbp untouched or saved at a distance
 * from it. All else is TIDE_UNWIND_OTHER: signal frames, DWARF expressions, other registers,
 * and bytes that make no sense. Nothing outside of the section is read.
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
    TIDE_UNWIND_END,      /* the outermost frame: there is no caller */
    TIDE_UNWIND_OTHER     /* beyond this reader */
} tide_unwind_kind;

/* How to get from a frame to its caller's: the return address is at CFA - 8, and CFA is the
 * caller's rsp. */
typedef struct tide_unwind_rule {
    tide_unwind_kind kind;
    int32_t cfa_offset; /* bytes */
    bool saves_rbp;     /* false: the caller's rbp is still in the register */
    int32_t rbp_offset; /* bytes from the CFA to where it is saved */
} tide_unwind_rule;

/* A run of bytes that may be read, such as a segment. */
typedef struct tide_byte_range {
    const uint8_t *begin; /* borrowed */
    const uint8_t *end;   /* one behind the last */
} tide_byte_range;

/* The rule for the instruction at `pc` (of a call: the return address - 1) by the frame description
 * entry at `fde`. */
tide_unwind_rule tide_eh_frame_rule(tide_byte_range section, const uint8_t *fde, uint64_t pc);

/* The entry that .eh_frame_hdr's sorted table names for `pc`: the last one that begins at or before
 * it, which need not reach it. NULL: none, or a table of another form than linkers write. `section`
 * holds both the header and the entries. */
const uint8_t *tide_eh_frame_find(tide_byte_range section, const uint8_t *header, uint64_t pc);

#ifdef __cplusplus
}
#endif

#endif
