/* boundary_fixture.h - rows of made-up histories. */
#ifndef TIDE_TESTS_BOUNDARY_FIXTURE_H
#define TIDE_TESTS_BOUNDARY_FIXTURE_H

#include "common/event.h"

static inline tide_event base_event(tide_action action, uint64_t address, uint64_t n_bytes) {
    return (tide_event){.address = address,
                        .requested_bytes = n_bytes,
                        .block_bytes = n_bytes,
                        .stack = TIDE_NONE,
                        .scope = TIDE_NONE,
                        .name = TIDE_NONE,
                        .action = (uint8_t)action};
}

#endif
