/* entry.c - the life of the preloaded library, and what every call of CUDA begins with. */
#include "common/python_package.h"
#include "programs/live/attach.h"
#include "programs/live/state_friend.h"

void tide_live_before_call(void) {
    if (tide_live_open() != NULL && tide_attach_now() == TIDE_ATTACH_NOT_YET) {
        tide_python_package_wake();
        (void)tide_attach_try();
    }
}

/* Preloaded libraries are the last to be ended: what others release at the end is recorded. */
__attribute__((destructor)) static void end(void) {
    tide_live_finish();
}
