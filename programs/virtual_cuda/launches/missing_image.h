/* missing_image.h - kernels that were not built for the card.
 */
#ifndef TIDE_VIRTUAL_CUDA_MISSING_IMAGE_H
#define TIDE_VIRTUAL_CUDA_MISSING_IMAGE_H

/* Refuses a kernel whose module has no image for the calling thread's device
 * (tide_vc_kernel_has_no_image), as the card does, and reports it once. Returns
 * TIDE_VC_NO_KERNEL_IMAGE, which becomes the thread's last error. Thread-safe. */
int tide_vc_refuse_kernel(void);

#endif
