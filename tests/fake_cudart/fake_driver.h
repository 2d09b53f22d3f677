/* fake_driver.h - reserved addresses of the fake runtime and memory behind them, as the driver's
 * virtual memory management gives them. The caller holds the runtime's lock.
 */
#ifndef TIDE_TESTS_FAKE_DRIVER_H
#define TIDE_TESTS_FAKE_DRIVER_H

/* Takes everything back. */
void tide_fake_driver_clear(void);

#endif
