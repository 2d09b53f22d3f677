/* entry.c - the life of the preloaded library, and what every call of CUDA begins with. */
#include "common/python_package.h"
#include "live/attach.h"
#include "live/python_frames.h"
#include "live/state_internal.h"

void tide_live_before_call(void) {
    const char *why = NULL;
    if (tide_live_open() == NULL || tide_attach_now() != TIDE_ATTACH_NOT_YET) {
        return;
    }
    tide_python_package_wake();
    if (!tide_python_frames_begin(&why) && why != NULL) {
        tide_live_describe("live.python_stacks", why);
    }
    (void)tide_attach_try();
}

/* Preloaded libraries are the last to be ended: what others release at the end is recorded. */
__attribute__((destructor)) static void end(void) {
    tide_live_finish();
}
