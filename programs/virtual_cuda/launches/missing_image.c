#include "programs/virtual_cuda/launches/missing_image.h"

#include <pthread.h>
#include <stdio.h>

#include "programs/wire/run_card.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"

enum { TEXT_BYTES = 160 };

static char text[TEXT_BYTES]; /* of the first device that refused a kernel; "" if none did */
TIDE_VC_LOCK(lock, NULL);

int tide_vc_refuse_kernel(void) {
    const tide_vc_card *card = tide_vc_card_of(tide_vc_device());
    pthread_mutex_lock(&lock);
    if (text[0] == '\0') {
        (void)snprintf(text, sizeof(text),
                       "the program's CUDA code was not built for compute capability %d.%d: its "
                       "kernels fail there, as on the card",
                       card->major, card->minor);
    }
    pthread_mutex_unlock(&lock);
    tide_vc_inexact(TIDE_RUN_NO_KERNELS, text);
    return tide_vc_fail(TIDE_VC_NO_KERNEL_IMAGE);
}
