/* report.cpp - reports and settings. */
#include "machine.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tide_emulator {

machine the;

namespace {

enum { N_PRINTED = 20 }; /* a wrong kernel would report the same for every thread */

size_t n_reports;
char last[1024];
bool quiet;

__attribute__((format(printf, 3, 0))) void say(const char *file, int line, const char *format,
                                               va_list arguments) {
    char text[512];
    char where[160] = "";
    char place[256] = "";
    (void)std::vsnprintf(text, sizeof(text), format, arguments);
    if (the.current != nullptr) {
        const uint3 &index = the.current->index;
        (void)std::snprintf(where, sizeof(where), ", block (%u, %u, %u), thread (%u, %u, %u)",
                            blockIdx.x, blockIdx.y, blockIdx.z, index.x, index.y, index.z);
    }
    if (file != nullptr) {
        (void)std::snprintf(place, sizeof(place), ", %s:%d", file, line);
    }
    const char *kernel = the.kernel != nullptr ? the.kernel : "no kernel";
    const size_t length = std::strlen(kernel);
    const bool bracketed = length > 1 && kernel[0] == '(' && kernel[length - 1] == ')';
    (void)std::snprintf(last, sizeof(last), "%.*s%s%s: %s",
                        static_cast<int>(bracketed ? length - 2 : length),
                        bracketed ? kernel + 1 : kernel, where, place, text);
    if (n_reports++ < N_PRINTED && !quiet) {
        (void)std::fprintf(stderr, "cuda emulator: %s\n", last);
    }
}

/* TIDE_EMULATOR_ORDER: forward, reverse, shuffled:SEED. */
struct order_from_environment {
    order_from_environment() {
        const char *wanted = std::getenv("TIDE_EMULATOR_ORDER");
        if (wanted != nullptr && std::strcmp(wanted, "reverse") == 0) {
            tide_emulator_set_order(TIDE_EMULATOR_REVERSE, 0);
        } else if (wanted != nullptr && std::strncmp(wanted, "shuffled:", 9) == 0) {
            tide_emulator_set_order(TIDE_EMULATOR_SHUFFLED,
                                    static_cast<unsigned>(std::strtoul(wanted + 9, nullptr, 10)));
        }
    }
} at_start;

} /* namespace */

void report(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(file, line, format, arguments);
    va_end(arguments);
}

void report_here(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(file, line, format, arguments);
    va_end(arguments);
}

} /* namespace tide_emulator */

using tide_emulator::the;

void tide_emulator_set_order(tide_emulator_order order, unsigned seed) {
    the.order = order;
    the.seed = seed;
}

size_t tide_emulator_n_reports(void) {
    return tide_emulator::n_reports;
}

const char *tide_emulator_last_report(void) {
    return tide_emulator::last;
}

void tide_emulator_clear_reports(void) {
    tide_emulator::n_reports = 0;
    tide_emulator::last[0] = '\0';
}

void tide_emulator_set_quiet(bool quiet) {
    tide_emulator::quiet = quiet;
}

bool tide_emulator_detects_races(void) {
    return the.race != nullptr;
}

size_t tide_emulator_touched_bytes(void) {
    return the.touched_bytes;
}

unsigned long long tide_emulator_n_switches(void) {
    return the.n_switches;
}
