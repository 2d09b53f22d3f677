/* python.h - lets the package `tidemark` into the Python interpreter of the process.
 *
 * PyTorch's history must be switched on before its first allocation, in every process that uses the
 * card, without a change of the program. So at the first CUDA calls this asks the interpreter to
 * import the package as soon as its main thread runs Python code again, which it does before it
 * allocates. Processes without Python, or without TIDEMARK_PYTHON in the environment, are left
 * alone.
 *
 *   TIDEMARK_PYTHON   the folder that holds the package
 */
#ifndef TIDE_VIRTUAL_CUDA_PYTHON_H
#define TIDE_VIRTUAL_CUDA_PYTHON_H

/* Asks, unless the package is there or has been asked for. Needs no GIL, and may be called on any
 * thread. */
void tide_vc_python_wake(void);

#endif
