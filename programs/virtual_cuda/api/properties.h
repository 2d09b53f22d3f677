/* properties.h - cudaDeviceProp in the layouts of CUDA 11, 12 and 13.
 */
#ifndef TIDE_VIRTUAL_CUDA_PROPERTIES_H
#define TIDE_VIRTUAL_CUDA_PROPERTIES_H

enum {
    TIDE_VC_PROPERTIES_BYTES_11 = 728, /* from memory, not checked against a header */
    TIDE_VC_PROPERTIES_BYTES_12 = 1032,
    TIDE_VC_PROPERTIES_BYTES_13 = 1008
};

/* Fills the struct of that major version of CUDA. The caller has checked the device. */
void tide_vc_properties(void *ret_properties, int device, int cuda_major);

#endif
