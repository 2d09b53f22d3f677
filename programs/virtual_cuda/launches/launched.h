/* launched.h - what a kernel that is launched may change of what the card knows (known.h).
 *
 * Kernels are not run. Everything that a kernel is given a pointer into is forgotten; PyTorch's
 * kernel that fills a tensor with one value is known by its name, and its value with it.
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_LAUNCHED_H
#define TIDE_VIRTUAL_CUDA_LAUNCHED_H

/* `name`: of the kernel as the compiler wrote it; "": not known. `arguments`: the addresses of its
 * arguments, whose number and sizes only the compiler knows; NULL: none. */
void tide_vc_launched(const char *name, void **arguments, void *stream);

/* The arguments are packed into a buffer, as cuLaunchKernel's last argument has it: pairs of a
 * number and a pointer, 1 before the buffer, 2 before the address of its size, 0 at the end. */
void tide_vc_launched_packed(void **packed);

#endif
