/* fake_driver.h - reserved addresses of the fake runtime and the memory mapped there, like the
 * driver's virtual memory management. The caller holds the runtime's lock.
 */
#ifndef TIDE_TESTS_FAKE_DRIVER_H
#define TIDE_TESTS_FAKE_DRIVER_H

/* Takes everything back. */
void tide_fake_driver_clear(void);

#endif
