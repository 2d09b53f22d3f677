/* places.h - places in the code, as small numbers for the race detector's records and as file and
 * line for its reports; and names of memory.
 */
#ifndef TIDE_TESTS_PLACES_H
#define TIDE_TESTS_PLACES_H

#include <cstddef>
#include <cstdint>

namespace tide_emulator {

struct source_place {
    const char *file; /* never nullptr; valid until the program ends */
    int line;         /* 0: not known */
};

std::uint32_t place_from_code(const void *pc); /* a return address in this program */
std::uint32_t place_from_source(const char *file, int line);
source_place place_resolve(std::uint32_t place);

/* Writes "'tile' + 12", or an address, to `text` and returns it. */
const char *place_of_address(const void *address, char *text, size_t n_bytes);

} /* namespace tide_emulator */

#endif
