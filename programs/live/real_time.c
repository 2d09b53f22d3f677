/* real_time.c - keeps recordings on the real clock in a program to which the virtual card shows a
 * forecast's.
 */
#include "common/real_time.h"

#include <stddef.h>

/* From the virtual card, if it is also preloaded (programs/virtual_cuda/process/real_time.c). */
extern const tide_real_time *tide_vc_real_time(void) __attribute__((weak));

/* No time is read before this: recording begins with a call of the program's main function. */
__attribute__((constructor)) static void begin(void) {
    if (tide_vc_real_time != NULL) {
        tide_real_time_set(tide_vc_real_time());
    }
}
