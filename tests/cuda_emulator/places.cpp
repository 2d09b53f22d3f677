/* places.cpp - see places.h. Addresses of code become file and line through libbacktrace, if the
 * compiler ships it. */
#include "places.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "machine.h"

#if TIDEMARK_HAVE_BACKTRACE
#include <backtrace.h>
#endif

extern "C" char __executable_start;

namespace tide_emulator {

namespace {

constexpr std::uint32_t FROM_SOURCE = 0x80000000U; /* else an offset in the program's code */

std::vector<source_place> &sources() {
    static std::vector<source_place> all;
    return all;
}

#if TIDEMARK_HAVE_BACKTRACE
void ignore(void *data, const char *message, int number) {
    (void)data;
    (void)message;
    (void)number;
}

/* libbacktrace calls first for the innermost frame, which is kept. */
int keep(void *data, uintptr_t pc, const char *file, int line, const char *function) {
    source_place *found = static_cast<source_place *>(data);
    (void)pc;
    (void)function;
    if (found->line == 0 && file != nullptr) {
        *found = {file, line};
    }
    return 0;
}

source_place look_up(uintptr_t pc) {
    static backtrace_state *symbols = backtrace_create_state(nullptr, 0, ignore, nullptr);
    source_place found = {"unknown place", 0};
    if (symbols != nullptr) {
        (void)backtrace_pcinfo(symbols, pc, keep, ignore, &found);
    }
    return found;
}
#else
source_place look_up(uintptr_t pc) {
    (void)pc;
    return {"unknown place", 0};
}
#endif

} /* namespace */

std::uint32_t place_from_code(const void *pc) {
    const uintptr_t offset =
        reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(&__executable_start);
    return static_cast<std::uint32_t>(offset) & ~FROM_SOURCE;
}

std::uint32_t place_from_source(const char *file, int line) {
    static std::map<std::pair<const char *, int>, std::uint32_t> numbers;
    const auto known = numbers.find({file, line});
    if (known != numbers.end()) {
        return known->second;
    }
    const std::uint32_t number = static_cast<std::uint32_t>(sources().size()) | FROM_SOURCE;
    sources().push_back({file, line});
    numbers[{file, line}] = number;
    return number;
}

source_place place_resolve(std::uint32_t place) {
    static std::map<std::uint32_t, source_place> known;
    if ((place & FROM_SOURCE) != 0) {
        return sources()[place & ~FROM_SOURCE];
    }
    const auto found = known.find(place);
    if (found != known.end()) {
        return found->second;
    }
    /* The call instruction is before its return address. */
    const source_place looked_up =
        look_up(reinterpret_cast<uintptr_t>(&__executable_start) + place - 1);
    known[place] = looked_up;
    return looked_up;
}

const char *place_of_address(const void *address, char *text, size_t n_bytes) {
    const shared_range *array = shared_find(address, 1);
    if (array != nullptr) {
        (void)std::snprintf(text, n_bytes, "'%s' at byte %td", array->name,
                            static_cast<const char *>(address) - array->base);
    } else {
        (void)std::snprintf(text, n_bytes, "device memory at %p", address);
    }
    return text;
}

} /* namespace tide_emulator */
