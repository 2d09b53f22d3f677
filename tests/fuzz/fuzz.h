/* fuzz.h - the entry point of a fuzz target. libFuzzer and replay.c call it; with replay.c every
 * build runs the kept inputs.
 */
#ifndef TIDE_TESTS_FUZZ_H
#define TIDE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Reads `data` as untrusted input and returns 0. Invalid input only yields an error status; a
 * crash, a sanitizer report or a broken guarantee ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#endif
