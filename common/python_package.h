/* python_package.h - lets the package `tidemark` into the Python interpreter of the process.
 *
 * What PyTorch allocates must be recorded from the first allocation on, in every process that uses
 * CUDA, without a change of the program. So the preloaded libraries call this at the first CUDA
 * calls: it asks the interpreter to import the package as soon as its main thread runs Python code
 * again, which it does before it allocates. Processes without Python, or without TIDEMARK_PYTHON in
 * the environment, are left alone. Each preloaded library asks for itself; the package starts once.
 *
 *   TIDEMARK_PYTHON   the folder that holds the package
 */
#ifndef TIDE_COMMON_PYTHON_PACKAGE_H
#define TIDE_COMMON_PYTHON_PACKAGE_H

/* Asks, unless the package is there or has been asked for. Needs no GIL, and may be called on any
 * thread. */
void tide_python_package_wake(void);

#endif
