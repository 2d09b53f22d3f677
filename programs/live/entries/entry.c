/* entry.c - the end of the preloaded library, and the start of every call of CUDA. */
#include "programs/wire/python_package.h"
#include "programs/live/attach.h"
#include "programs/live/state_friend.h"

void tide_live_before_call(void) {
    if (tide_live_open() != NULL && tide_attach_now() == TIDE_ATTACH_NOT_YET) {
        tide_python_package_wake();
        (void)tide_attach_try();
    }
}

/* Preloaded libraries end last, so frees of other libraries at the end are recorded. */
__attribute__((destructor)) static void end(void) {
    tide_live_finish();
}
