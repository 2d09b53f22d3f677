/* python_package.h - brings the package `tidemark` into the Python interpreter of the process.
 *
 * PyTorch's allocations must be recorded from the first one on, in every process that uses CUDA,
 * without changing the program. So the preloaded libraries call this at the first CUDA calls: it
 * asks the interpreter to import the package when its main thread next runs Python code, which is
 * before PyTorch allocates. Processes without Python, or without TIDEMARK_PYTHON in the
 * environment, are left alone. Each preloaded library asks for itself; the package starts once.
 *
 *   TIDEMARK_PYTHON   the folder that holds the package
 */
#ifndef TIDE_WIRE_PYTHON_PACKAGE_H
#define TIDE_WIRE_PYTHON_PACKAGE_H

/* Asks, unless the package is loaded or was asked for before. Needs no GIL; any thread may call
 * it. */
void tide_python_package_wake(void);

#endif
