/* The start of each object: its _init, which comes before its constructors (crti.S of the C
 * library), calls __gmon_start__ if any loaded object has it. Only profilers of programs built with
 * -pg have one of their own. */
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/linked/linked.h"

TIDE_VC_EXPORT void __gmon_start__(void) {
    tide_vc_linked_look(__builtin_return_address(0));
}
