/* modules.h - modules and libraries of kernels that a program loads at run time: their variables
 * on the card, and the parameters of their kernels, read from the machine code.
 *
 * PTX, and images in formats that are not read, have neither. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_MODULES_H
#define TIDE_VIRTUAL_CUDA_MODULES_H

#include <stddef.h>
#include <stdint.h>

/* Reads the image of a module, a handle: machine code, or a fat binary with it. */
void tide_vc_module_read(void *module, const void *image);

/* The same for the path of a file. */
void tide_vc_module_read_file(void *module, const char *path);

/* The module is gone, and so are its variables. */
void tide_vc_module_forget(const void *module);

/* The variable's address and size; NULL outputs are not wanted. `call` is named if the image was
 * not read. TIDE_VC_OK, TIDE_VC_NOT_FOUND, TIDE_VC_NOT_SUPPORTED, or a status of host_failure.h. */
int tide_vc_module_variable(const char *call, const void *module, const char *name,
                            uint64_t *ret_address, size_t *ret_n_bytes);

/* A kernel that the program took from the module by its name. */
void tide_vc_module_kernel(const void *module, const void *kernel, const char *name);

/* The module of a kernel; NULL for any other kernel. */
void *tide_vc_module_of(const void *kernel);

/* The place of a kernel's parameter; NULL outputs are not wanted. TIDE_VC_OK,
 * TIDE_VC_INVALID_VALUE after the last parameter, or TIDE_VC_NOT_SUPPORTED. */
int tide_vc_module_parameter(const char *call, const void *kernel, size_t number,
                             size_t *ret_offset, size_t *ret_n_bytes);

#endif
