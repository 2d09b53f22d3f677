/* test_exceptions.cpp - a recorder opens libunwind without exposing its symbols to the process: C++
 * exceptions and backtrace() keep using their own libraries.
 */
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "recorder/recorder.h"
#include "recorder/recorder_friend.h"

namespace {

int n_failed = 0;

void check(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "failed: %s\n", what);
        n_failed++;
    }
}

/* Whether the process finds this symbol in libunwind. */
bool comes_from_libunwind(const char *symbol) {
    void *address = dlsym(RTLD_DEFAULT, symbol);
    Dl_info info;
    return address != nullptr && dladdr(address, &info) != 0 &&
           std::strstr(info.dli_fname, "libunwind") != nullptr;
}

__attribute__((noinline)) void thrower(tide_recorder *recorder, int depth) {
    if (depth > 0) {
        thrower(recorder, depth - 1);
        check(false, "nothing comes back from a throw");
    }
    check(tide_recorder_note(recorder, "x").stack != TIDE_NONE, "a stack is captured");
    throw std::runtime_error("thrown");
}

} // namespace

int main() {
    tide_recorder *recorder = nullptr;
    if (tide_recorder_create(nullptr, &recorder, nullptr) != TIDE_OK) {
        return 1;
    }
    const char *missing = tide_recorder_stacks_missing(recorder);
    if (missing != nullptr) {
        std::fprintf(stderr, "skipped: %s\n", missing);
        tide_recorder_destroy(recorder);
        return 77;
    }
    bool caught = false;
    try {
        thrower(recorder, 8);
    } catch (const std::runtime_error &error) {
        caught = std::strcmp(error.what(), "thrown") == 0;
    }
    check(caught, "the exception arrives");
    for (const char *symbol : {"backtrace", "unw_backtrace", "_Unwind_Backtrace",
                               "_Unwind_RaiseException", "_Unwind_Resume"}) {
        check(!comes_from_libunwind(symbol), symbol);
    }
    check(dlsym(RTLD_DEFAULT, "backtrace") != nullptr, "backtrace is there at all");
    tide_recorder_destroy(recorder);
    return n_failed == 0 ? 0 : 1;
}
