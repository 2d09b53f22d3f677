/* cuda_fixture.h - a cuda device on the fake runtime. For tests that include cmocka.h. */
#ifndef TIDE_TESTS_CUDA_FIXTURE_H
#define TIDE_TESTS_CUDA_FIXTURE_H

#include <stdlib.h>

#include "device/device.h"
#include "fake_cudart/fake_cudart.h"

#define MIB ((size_t)1 << 20)

static inline int start(void **state) {
    (void)state;
    tide_fake_cudart_reset();
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    return 0;
}

static inline tide_device *open_device(void) {
    tide_device *device = NULL;
    tide_error error = {""};
    if (tide_device_open("cuda", NULL, &device, &error) != TIDE_OK) {
        fail_msg("cuda: %s", error.message);
    }
    return device;
}

#endif
