/* test_unwinder_cpp.cpp - call stacks of C++ code: inside catch blocks, in destructors that run
 * while an exception passes, after frames that one has passed, and in virtual and inlined calls.
 */
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>

#include "unit/stack/unwinder/frames.h"
#include "unit/stack/unwinder/unwinder_check.h"

namespace {

unwinder_check stacks;

void capture(void *) {
    unwinder_check_capture(&stacks);
}

struct Guard {
    explicit Guard(unsigned depth_) : depth(depth_) {
        capture(nullptr);
    }
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
    ~Guard() {
        tide_test_frames(depth * 0x35, depth % 5, capture, nullptr);
    }
    unsigned depth;
};

struct Shape {
    virtual ~Shape() = default;
    virtual void go(unsigned depth) = 0;
};

__attribute__((noinline)) void descend(unsigned depth);

struct Catching : Shape {
    void go(unsigned depth) override {
        try {
            const Guard guard(depth);
            descend(depth);
        } catch (const std::runtime_error &) {
            capture(nullptr);
            throw;
        }
    }
};

struct Calling : Shape {
    void go(unsigned depth) override {
        const std::function<void(unsigned)> further = [](unsigned d) {
            const Guard guard(d);
            descend(d);
        };
        further(depth);
    }
};

void descend(unsigned depth) {
    if (depth == 0) {
        throw std::runtime_error("the end of the way down");
    }
    std::unique_ptr<Shape> shape;
    if (depth % 2 == 0) {
        shape = std::make_unique<Catching>();
    } else {
        shape = std::make_unique<Calling>();
    }
    shape->go(depth - 1);
    capture(nullptr);
}

void throw_out(void *) {
    capture(nullptr);
    throw std::runtime_error("from below");
}

} // namespace

int main() {
    if (!unwinder_check_begin(&stacks, TIDE_MAX_FRAMES)) {
        return 77;
    }
    unsigned n_caught = 0;
    for (unsigned depth = 0; depth < 24; depth++) {
        for (int again = 0; again < 3; again++) {
            try {
                descend(depth);
            } catch (const std::exception &) {
                capture(nullptr);
                n_caught++;
            }
            try {
                tide_test_frames(depth * 0x9e3779b97f4a7c15u, depth, throw_out, nullptr);
            } catch (const std::exception &) {
                capture(nullptr);
                n_caught++;
            }
        }
    }
    tide_unwinder_stats stats;
    bool agree = unwinder_check_end(&stacks, &stats);
    std::printf("%llu captures, %llu compared, %llu left to libunwind\n",
                static_cast<unsigned long long>(stats.n_captures),
                static_cast<unsigned long long>(stats.n_checked),
                static_cast<unsigned long long>(stats.n_given_up));
    if (n_caught != 144 || stats.n_checked < 1000) {
        std::fprintf(stderr, "%u exceptions caught, %llu stacks compared\n", n_caught,
                     static_cast<unsigned long long>(stats.n_checked));
        return 1;
    }
    return agree ? 0 : 1;
}
