/* demangle.h - turns the linker's name of a C++ or Rust function into the name in its source.
 *
 * Uses the machine's C++ library, which is loaded for the first name.
 */
#ifndef TIDE_COMMON_DEMANGLE_H
#define TIDE_COMMON_DEMANGLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The caller releases the text with free(). NULL if the name is not a C++ name, or without a C++
 * library or memory. The hash at the end of a Rust name is left out. Thread-safe. */
char *tide_demangle(const char *name);

#ifdef __cplusplus
}
#endif

#endif
