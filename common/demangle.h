/* demangle.h - turns the linker's name of a C++ or Rust function into the name in its source.
 *
 * The C++ library of the machine does it, which is loaded when the first name is asked for.
 */
#ifndef TIDE_COMMON_DEMANGLE_H
#define TIDE_COMMON_DEMANGLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The caller releases the text with free(). NULL if the name is not one of C++, or there is no C++
 * library, or no memory. The hash at the end of a Rust name is left out. Thread-safe. */
char *tide_demangle(const char *name);

#ifdef __cplusplus
}
#endif

#endif
