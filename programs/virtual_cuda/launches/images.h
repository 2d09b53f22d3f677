/* images.h - the images of the program's kernels: the architectures each module was built for, and
 * the image that the driver would choose for a card.
 *
 * The choice matters for memory: CUB picks block sizes by the chosen image's PTX version, and the
 * size of its temporary storage follows. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_IMAGES_H
#define TIDE_VIRTUAL_CUDA_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

/* The versions of an image, as 90 for 9.0. */
typedef struct tide_vc_image {
    int ptx_version;    /* of the PTX it was made from */
    int binary_version; /* of its machine code */
    /* The entry of the fat binary, and the end of all its entries. NULL: PTX, or unknown. */
    const unsigned char *entry, *end;
} tide_vc_image;

/* The image of a fat binary that the driver chooses for a card of that compute capability: machine
 * code of the same major version and the highest minor version not above the card's; otherwise the
 * highest PTX not above it, which the driver compiles. False if it has neither. */
bool tide_vc_image_choose(const void *fat_binary, int capability, tide_vc_image *ret_image);

/* The bytes of a fat binary from the header of 16 bytes; SIZE_MAX: it has no such header. */
size_t tide_vc_image_bytes(const void *fat_binary);

/* Whether a fat binary that could be read whole has no image for such a card. The card cannot
 * launch its kernels. */
bool tide_vc_image_is_missing(const void *fat_binary, int capability);

/* The same for the module of a registered kernel, on a device; false for an unknown kernel. */
bool tide_vc_kernel_has_no_image(const void *kernel, int device);

/* The image of a registered kernel on a device; for an unknown kernel, the device's own version. */
tide_vc_image tide_vc_image_of(const void *kernel, int device);

/* The name of a registered kernel as the compiler wrote it; "" for any other. Valid as long as the
 * process.
 */
const char *tide_vc_kernel_name(const void *kernel);

/* The same for a launch on a device, in one search; NULL if tide_vc_kernel_has_no_image. */
const char *tide_vc_kernel_to_launch(const void *kernel, int device);

/* A new handle (handle.h) of a kernel that is loaded at run time. Copies the name. */
void *tide_vc_kernel_new(const char *name);

#endif
