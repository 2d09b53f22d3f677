/* images.h - the images of kernels that a program brings along: for which architectures each
 * module was built, and which image the driver would choose for a card.
 *
 * The choice counts for memory: CUB picks block sizes by the chosen image's PTX version, and the
 * size of its temporary storage follows. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_IMAGES_H
#define TIDE_VIRTUAL_CUDA_IMAGES_H

#include <stdbool.h>

/* The versions of an image, as 90 for 9.0. */
typedef struct tide_vc_image {
    int ptx_version;    /* of the PTX that it was made from */
    int binary_version; /* of its machine code */
    /* The entry of the fat binary, and the end of all its entries. NULL: it is PTX, or unknown. */
    const unsigned char *entry, *end;
} tide_vc_image;

/* The image that the driver chooses of a fat binary for a card of that compute capability: machine
 * code of the same major version, the highest minor that is not above the card's; else the highest
 * PTX that is not above it, which the driver compiles. False: it has none of either. */
bool tide_vc_image_choose(const void *fat_binary, int capability, tide_vc_image *ret_image);

/* Whether a fat binary that could be read whole has no image for such a card. A kernel of it cannot
 * be launched there. */
bool tide_vc_image_is_missing(const void *fat_binary, int capability);

/* The same of the module of a registered kernel, for a device; false for an unknown kernel. */
bool tide_vc_kernel_has_no_image(const void *kernel, int device);

/* The image of a registered kernel on a device; that of the device itself for an unknown one. */
tide_vc_image tide_vc_image_of(const void *kernel, int device);

/* The name of a registered kernel as the compiler wrote it; "" for another. It stays where it is.
 */
const char *tide_vc_kernel_name(const void *kernel);

/* A new handle of a kernel that is loaded at run time, whose name is copied; as handle.h has it. */
void *tide_vc_kernel_new(const char *name);

#endif
