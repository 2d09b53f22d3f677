/* fake_copies.h - copies that run late, as copies of host memory may: a copy to the device reads
 * the host at the next launch, copy or wait, and a copy to the host arrives with a wait. The caller
 * holds the runtime's lock. */
#ifndef TIDE_TESTS_FAKE_COPIES_H
#define TIDE_TESTS_FAKE_COPIES_H

#include <stdbool.h>
#include <stddef.h>

/* Until the copy arrives, a dst on the host is 0xFF. False if the host has no memory. */
bool tide_fake_copies_add(void *dst, const void *src, size_t n_bytes, bool to_host);
/* Those to the device. */
void tide_fake_copies_submit(void);
/* All. */
void tide_fake_copies_finish(void);
/* Forgets all. */
void tide_fake_copies_clear(void);

#endif
