/* loaded_code_internal.h - asks the dynamic linker which module a return address belongs to, and
 * the module's .eh_frame how to unwind there.
 *
 * Only dl_iterate_phdr is used. dlopen and dladdr would wait for constructors and destructors of
 * libraries, and those may allocate on another thread; dl_iterate_phdr waits for neither, so this
 * may be called wherever an allocation may.
 */
#ifndef TIDE_STACK_LOADED_CODE_INTERNAL_H
#define TIDE_STACK_LOADED_CODE_INTERNAL_H

#include "stack/eh_frame_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The counters of the dynamic linker. The set of modules changes only when they change. */
typedef struct tide_code_counts {
    uint64_t n_loaded;   /* modules ever loaded */
    uint64_t n_unloaded; /* of those, the number unloaded again */
} tide_code_counts;

tide_code_counts tide_loaded_code_count(void);

typedef struct tide_code_rule {
    tide_unwind_rule rule;   /* TIDE_UNWIND_OTHER if no module or no entry was found */
    bool may_go;             /* the module did not come with the program: dlclose may unload it, and
                                dlopen may put another one in its place */
    tide_code_counts counts; /* when the rule was made */
} tide_code_rule;

/* The rule for the frame that a call with this return address belongs to. */
tide_code_rule tide_loaded_code_rule(uint64_t return_address);

#ifdef __cplusplus
}
#endif

#endif
