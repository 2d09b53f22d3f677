/* scheduler.cpp - runs the blocks of a launch, one after another, and the threads of a block: each
 * warp until all its lanes wait at a block barrier or have returned, then the next warp. */
#include "machine.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "device_memory.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace tide_emulator {

unsigned lane() {
    return thread_number() % 32;
}

namespace {

bool same_place(const thread &a, const thread &b) {
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

unsigned random_below(unsigned bound) {
    the.random = the.random * 1664525U + 1013904223U;
    return static_cast<unsigned>(static_cast<std::uint64_t>(the.random) * bound >> 32);
}

/* Fills positions[0 .. n) in the order in which they run. */
template <typename T> void arrange(T *positions, T n) {
    for (T i = 0; i < n; i++) {
        positions[i] = the.order == TIDE_EMULATOR_REVERSE ? n - 1 - i : i;
    }
    if (the.order == TIDE_EMULATOR_SHUFFLED) {
        for (T i = n; i > 1; i--) {
            std::swap(positions[i - 1], positions[random_below(static_cast<unsigned>(i))]);
        }
    }
}

unsigned lanes_of(unsigned warp_index) {
    const size_t n_left = the.threads.size() - warp_index * 32;
    return n_left >= 32 ? 0xFFFFFFFFU : (1U << n_left) - 1;
}

unsigned n_warps() {
    return static_cast<unsigned>((the.threads.size() + 31) / 32);
}

/* Ends the meeting in which `one` waits, once every lane of its mask has arrived or returned. */
bool complete(const thread &one) {
    const unsigned index = static_cast<unsigned>(&one - the.threads.data()) / 32;
    warp &mine = the.warps[index];
    thread *lanes = &the.threads[index * 32];
    const unsigned mask = one.mask;
    if ((mask & ~mine.done & ~mine.meeting) != 0) {
        return false;
    }
    if ((mask & mine.done) != 0) {
        report(one.file, one.line, "waits for lanes %08x, of which %08x have returned", mask,
               mask & mine.done);
    }
    const unsigned present = mask & ~mine.done;
    void *data[32] = {};
    for (unsigned i = 0; i < 32; i++) {
        if ((present >> i & 1U) == 0) {
            continue;
        }
        const thread &other = lanes[i];
        if (other.waits_for != one.waits_for || other.mask != mask || !same_place(other, one)) {
            report(one.file, one.line,
                   "lanes of a warp meet at different places: mask %08x here, lane %u with mask "
                   "%08x at %s:%d",
                   mask, i, other.mask, other.file, other.line);
            if (other.combine != one.combine) {
                continue; /* it has called another function */
            }
        }
        data[i] = other.data;
    }
    if (one.combine != nullptr) {
        unsigned brought = 0;
        for (unsigned i = 0; i < 32; i++) {
            brought |= (data[i] != nullptr ? 1U : 0U) << i;
        }
        the.combines = true;
        one.combine(data, brought);
        the.combines = false;
    }
    if (one.waits_for == meeting::warp && the.race != nullptr) {
        the.race->meet(index, present);
    }
    for (unsigned i = 0; i < 32; i++) {
        if (present >> i & 1U) {
            lanes[i].waits_for = meeting::none;
        }
    }
    mine.meeting &= ~present;
    mine.ready |= present;
    return true;
}

void enter(void *argument) {
    the.body(argument);
}

void turn(unsigned warp_index, unsigned lane_index) {
    thread &next = the.threads[warp_index * 32 + lane_index];
    if (next.stack == nullptr) {
        next.stack = fiber_take(enter, the.argument);
    }
    the.current = &next;
    fiber_bounds(next.stack, &the.stack_low, &the.stack_high);
    threadIdx = next.index;
    next.done = fiber_resume(next.stack);
    the.current = nullptr;
    if (next.done) {
        fiber_give_back(next.stack);
        next.stack = nullptr;
        the.warps[warp_index].done |= 1U << lane_index;
        the.warps[warp_index].ready &= ~(1U << lane_index);
    }
}

/* Runs every warp up to its next barrier; false if nothing could run. */
bool run_warps() {
    bool any = false;
    unsigned warps[32];
    unsigned lanes[32];
    arrange<unsigned>(warps, n_warps());
    for (unsigned w = 0; w < n_warps(); w++) {
        const warp &mine = the.warps[warps[w]];
        while (mine.ready != 0) {
            any = true;
            arrange<unsigned>(lanes, 32);
            for (unsigned i = 0; i < 32; i++) {
                if (mine.ready >> lanes[i] & 1U) {
                    turn(warps[w], lanes[i]);
                }
            }
        }
    }
    return any;
}

/* How many threads of the block wait, and for what. */
struct census {
    unsigned n_done, n_at_barrier, n_meeting;
    thread *at_barrier; /* the first */
    thread *meeting;    /* the last */
};

census count() {
    census all = {0, 0, 0, nullptr, nullptr};
    for (thread &each : the.threads) {
        if (each.done) {
            all.n_done++;
        } else if (each.waits_for == meeting::block) {
            all.n_at_barrier++;
            all.at_barrier = all.at_barrier == nullptr ? &each : all.at_barrier;
        } else {
            all.n_meeting++;
            all.meeting = &each;
        }
    }
    return all;
}

void open_barrier(const census &all) {
    const thread &first = *all.at_barrier;
    for (thread &each : the.threads) {
        if (!each.done && !same_place(each, first)) {
            the.current = &each;
            report(each.file, each.line,
                   "__syncthreads here, while thread %u of the block waits at %s:%d",
                   static_cast<unsigned>(&first - the.threads.data()), first.file, first.line);
            the.current = nullptr;
            break;
        }
    }
    if (all.n_done > 0) {
        report(first.file, first.line,
               "%u threads wait at __syncthreads, %u have returned without it", all.n_at_barrier,
               all.n_done);
    }
    for (thread &each : the.threads) {
        each.waits_for = meeting::none;
    }
    for (unsigned w = 0; w < n_warps(); w++) {
        the.warps[w].ready = lanes_of(w) & ~the.warps[w].done;
    }
    if (the.race != nullptr) {
        the.race->barrier();
    }
}

/* Meetings whose missing lanes have returned in the meantime can end now. */
bool complete_any() {
    for (thread &each : the.threads) {
        const bool waits =
            !each.done && each.waits_for != meeting::none && each.waits_for != meeting::block;
        if (waits && complete(each)) {
            return true;
        }
    }
    return false;
}

void give_up(const census &all) {
    the.current = all.meeting;
    report(all.meeting->file, all.meeting->line,
           "waits for ever for lanes %08x (%u threads at a barrier, %u returned)",
           all.meeting->mask, all.n_at_barrier, all.n_done);
    the.current = nullptr;
    for (thread &each : the.threads) {
        if (each.stack != nullptr) {
            fiber_abandon(each.stack);
            each.stack = nullptr;
        }
    }
}

void begin_block() {
    for (size_t i = 0; i < the.threads.size(); i++) {
        const unsigned number = static_cast<unsigned>(i);
        thread fresh = {};
        fresh.index = {number % blockDim.x, number / blockDim.x % blockDim.y,
                       number / blockDim.x / blockDim.y};
        the.threads[i] = fresh;
    }
    for (unsigned w = 0; w < n_warps(); w++) {
        the.warps[w] = {lanes_of(w), 0, 0};
    }
}

/* False when the block can never end. */
bool run_block() {
    begin_block();
    for (;;) {
        const bool any = run_warps();
        const census all = count();
        if (all.n_done == the.threads.size()) {
            return true;
        }
        if (all.n_meeting == 0) {
            open_barrier(all);
        } else if (!any && !complete_any()) {
            give_up(all);
            return false;
        }
    }
}

bool run_grid(size_t shared_bytes) {
    const size_t n_blocks = static_cast<size_t>(gridDim.x) * gridDim.y * gridDim.z;
    bool ended = true;
    std::vector<size_t> blocks(n_blocks);
    arrange<size_t>(blocks.data(), n_blocks);
    for (size_t k = 0; k < n_blocks && ended; k++) {
        const size_t at = blocks[k];
        blockIdx = {static_cast<unsigned>(at % gridDim.x),
                    static_cast<unsigned>(at / gridDim.x % gridDim.y),
                    static_cast<unsigned>(at / gridDim.x / gridDim.y)};
        shared_begin_block(shared_bytes);
        copies_begin_block();
        if (the.race != nullptr) {
            the.race->block();
        }
        ended = run_block();
        shared_end_block();
    }
    return ended;
}

/* Reports a launch that the runtime refuses, and returns its error. */
cudaError_t check_launch(dim3 grid, dim3 block, size_t shared_bytes, size_t argument_bytes) {
    const size_t n_threads = static_cast<size_t>(block.x) * block.y * block.z;
    if (n_threads == 0 || n_threads > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64) {
        report(nullptr, 0, "launched with blocks of (%u, %u, %u) threads: 1 to 1024, z to 64",
               block.x, block.y, block.z);
        return cudaErrorInvalidConfiguration;
    }
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7FFFFFFFU || grid.y > 65535 ||
        grid.z > 65535) {
        report(nullptr, 0,
               "launched with a grid of (%u, %u, %u) blocks: 1 to (2^31 - 1, 65535, 65535)", grid.x,
               grid.y, grid.z);
        return cudaErrorInvalidConfiguration;
    }
    if (shared_bytes > the.shared_limit) {
        report(nullptr, 0, "launched with %zu bytes of shared memory: %zu at most", shared_bytes,
               the.shared_limit);
        return cudaErrorInvalidValue;
    }
    if (argument_bytes > 4096 + sizeof(void *)) {
        report(nullptr, 0, "launched with %zu bytes of arguments: 4096 at most", argument_bytes);
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

} /* namespace */

void barrier(const char *file, int line) {
    thread &self = *the.current;
    self.waits_for = meeting::block;
    self.file = file;
    self.line = line;
    the.warps[thread_number() / 32].ready &= ~(1U << lane());
    fiber_wait(self.stack);
}

void meet(meeting kind, unsigned mask, void *data, combine_function combine, const char *file,
          int line) {
    thread &self = *the.current;
    const unsigned bit = 1U << lane();
    if ((mask & bit) == 0) {
        report(file, line, "lane %u is not in its own mask %08x", lane(), mask);
        mask |= bit;
    }
    self.waits_for = kind;
    self.mask = mask;
    self.data = data;
    self.combine = combine;
    self.file = file;
    self.line = line;
    warp &mine = the.warps[thread_number() / 32];
    mine.meeting |= bit;
    mine.ready &= ~bit;
    if (!complete(self)) {
        fiber_wait(self.stack);
    }
}

int set_shared_limit(const void *function, int n_bytes) {
    if (n_bytes < 0 || n_bytes > SHARED_LARGEST) {
        return cudaErrorInvalidValue;
    }
    the.limits[function] = n_bytes;
    return cudaSuccess;
}

int submit(cudaStream_t stream, std::function<int()> launch) {
    typedef std::function<int()> work;
    auto kept = std::make_unique<work>(std::move(launch));
    const bool is_kept = tide_device_keeps(
        stream, [](void *of) { return (*static_cast<work *>(of))(); },
        [](void *of) { delete static_cast<work *>(of); }, kept.get());
    if (is_kept) {
        (void)kept.release();
        return cudaSuccess;
    }
    return (*kept)();
}

int run(const char *kernel, const void *function, dim3 grid, dim3 block, size_t shared_bytes,
        size_t argument_bytes, void (*body)(void *), void *argument) {
    const auto limit = the.limits.find(function);
    const size_t n_before = tide_emulator_n_reports();
    if (the.kernel != nullptr) {
        report(nullptr, 0, "launches %s: kernels launch nothing here", kernel);
        return cudaErrorLaunchFailure;
    }
    const int refusal = tide_device_launches(kernel);
    if (refusal != cudaSuccess) {
        return refusal;
    }
    the.kernel = kernel;
    the.shared_limit = SHARED_DEFAULT;
    if (limit != the.limits.end()) {
        the.shared_limit = std::max(the.shared_limit, static_cast<size_t>(limit->second));
    }
    int result = check_launch(grid, block, shared_bytes, argument_bytes);
    if (result == cudaSuccess) {
        the.body = body;
        the.argument = static_cast<char *>(argument);
        the.argument_bytes = argument_bytes;
        the.random = the.seed;
        the.threads.assign(static_cast<size_t>(block.x) * block.y * block.z, thread());
        gridDim = grid;
        blockDim = block;
        if (the.race != nullptr) {
            the.race->launch();
        }
        device_memory_open();
        const bool ended = run_grid(shared_bytes);
        device_memory_close();
        result =
            ended && tide_emulator_n_reports() == n_before ? cudaSuccess : cudaErrorLaunchFailure;
    }
    the.kernel = nullptr;
    return result;
}

} /* namespace tide_emulator */
