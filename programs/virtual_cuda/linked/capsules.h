/* capsules.h - the CUDA runtime that is linked into a module of Python that was stripped, as in
 * cuda-python: cuda/bindings/_internal/runtime.
 *
 * A module written in Cython offers its C functions to others as capsules, each with its name and
 * its address (__pyx_capi__). They exist when the module was executed, before any other module gets
 * them.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_CAPSULES_H
#define TIDE_VIRTUAL_CUDA_LINKED_CAPSULES_H

/* Called while Python loads such a module: replaces its functions once it was executed. Runs no
 * code in Python, because another thread could then need the loader's lock, which is held. Does
 * nothing outside of Python. */
void tide_vc_capsules_await(void);

#endif
