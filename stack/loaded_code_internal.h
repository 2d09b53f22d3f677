/* loaded_code_internal.h - asks the dynamic linker which module a return address lies in, and the
 * module's .eh_frame how to unwind there.
 *
 * dl_iterate_phdr is all that is used: it waits for no constructor or destructor of a library, as
 * dlopen and dladdr would, so this may be called wherever an allocation may.
 */
#ifndef TIDE_STACK_LOADED_CODE_INTERNAL_H
#define TIDE_STACK_LOADED_CODE_INTERNAL_H

#include "stack/eh_frame_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the dynamic linker counts; as long as it stays the same, so do the modules. */
typedef struct tide_code_counts {
    uint64_t n_loaded;   /* modules ever loaded */
    uint64_t n_unloaded; /* of those, how many were unloaded again */
} tide_code_counts;

tide_code_counts tide_loaded_code_count(void);

typedef struct tide_code_rule {
    tide_unwind_rule rule;   /* TIDE_UNWIND_OTHER where no module or no entry is */
    bool may_go;             /* not part of the program's start: dlclose or dlopen may change it */
    tide_code_counts counts; /* when the rule was made */
} tide_code_rule;

/* The rule for code that returns to `return_address`. */
tide_code_rule tide_loaded_code_rule(uint64_t return_address);

#ifdef __cplusplus
}
#endif

#endif
