/* launched.h - the effect of a launched kernel on the bytes that the card knows (known.h).
 *
 * Kernels do not run. All memory that a kernel gets a pointer into is forgotten, or, for generated
 * kernels with a known text, the memory that the kernel stores through (stores.h). Only PyTorch's
 * kernel that fills a tensor with one value is recognized, by its name, and its value becomes
 * known. The addresses of generated kernels and of kernels in a capture are recorded (reached.h).
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_LAUNCHED_H
#define TIDE_VIRTUAL_CUDA_LAUNCHED_H

/* `name`: of the kernel as the compiler wrote it; "": unknown. `arguments`: the addresses of its
 * arguments, whose number and sizes only the compiler knows; NULL: none. */
void tide_vc_launched(const char *name, void **arguments, void *stream);

/* The same for a generated kernel: one that was launched through the driver API. */
void tide_vc_launched_generated(const void *kernel, void **arguments);

/* The same for arguments packed into a buffer, as in cuLaunchKernel's last argument: pairs of a
 * number and a pointer, 1 before the buffer, 2 before the address of its size, 0 at the end. */
void tide_vc_launched_packed(void **packed);

#endif
