/* fuzz.h - what a fuzz target is: libFuzzer's entry, which replay.c calls too, so that every build
 * runs the kept inputs.
 */
#ifndef TIDE_TESTS_FUZZ_H
#define TIDE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Reads `data` as if somebody had handed it in; returns 0. Whatever is wrong with it ends in a
 * status; a crash, a sanitizer's report or a broken promise ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#endif
