/* attributes.h - figures of a card under the numbers of cudaDeviceAttr, which CUdevice_attribute
 * shares.
 */
#ifndef TIDE_VIRTUAL_CUDA_ATTRIBUTES_H
#define TIDE_VIRTUAL_CUDA_ATTRIBUTES_H

/* The attribute of a device that the caller has checked. 0 for one that the card does not have. */
int tide_vc_attribute(int attribute, int device);

/* Blocks of so many threads with so much dynamic shared memory that fit on a multiprocessor. */
int tide_vc_resident_blocks(int device, int n_threads, unsigned long shared_bytes);

#endif
