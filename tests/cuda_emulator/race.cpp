/* race.cpp - finds races between the threads of a launch, and every access outside valid memory.
 *
 * Kernels are compiled with -fsanitize=thread, whose calls come here instead of into libtsan: each
 * load and store of a kernel is seen. Two accesses of one cell (2 bytes, the smallest element) by
 * different threads must be ordered if one of them writes and they are not both atomic: by a block
 * barrier between them, or within a warp by __syncwarp; shuffles and votes order nothing. Blocks of
 * one launch are never ordered, launches always.
 *
 * This file itself is compiled without -fsanitize=thread. */
#include "machine.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "device_memory.h"
#include "places.h"

extern "C" char __executable_start;
extern "C" char _end;

namespace tide_emulator {

namespace {

/* The thread that touched a cell, and when. Epochs count barriers, blocks and launches of the whole
 * program. */
struct record {
    std::uint32_t epoch;  /* 0: no access yet */
    std::uint32_t clock;  /* the lane's own, at the access */
    std::uint32_t place;  /* in the code */
    std::uint16_t thread; /* of the block */
    std::uint16_t atomic; /* 1 or 0 */
};

struct cell {
    record written;           /* last */
    record read;              /* last */
    record read_other;        /* last by another thread than `read` */
    std::uint32_t n_copies;   /* on their way into it, begun in this block */
    std::uint32_t copy_epoch; /* when the last of them was begun */
};

enum { CELL_BYTES = 2, PAGE_BYTES = 4096, PAGE_CELLS = PAGE_BYTES / CELL_BYTES };

struct page {
    cell cells[PAGE_CELLS];
};

/* For each lane the clocks of the other lanes of its warp at their last common __syncwarp. */
struct knowledge {
    std::uint32_t of[32];
};

struct recent_page {
    uintptr_t key; /* address / PAGE_BYTES */
    page *cells;   /* borrowed from `pages`; nullptr: none yet */
};

enum { N_RECENT = 256 };

struct detector {
    std::unordered_map<uintptr_t, std::unique_ptr<page>> pages; /* by address / PAGE_BYTES */
    std::uint32_t epoch;                                        /* now; at least 1 in a launch */
    std::uint32_t launch_epoch;                                 /* first of this launch */
    std::uint32_t block_epoch;                                  /* first of this block */
    std::vector<std::uint32_t> blocks; /* first epochs of this launch's blocks, in order */
    std::vector<uint3> block_indices;  /* blockIdx of each */
    std::vector<knowledge> lanes;      /* by thread of the block */
    recent_page recent[N_RECENT];      /* found recently, by key modulo N_RECENT */
};

detector now;

page *page_of(uintptr_t address) {
    const uintptr_t key = address / PAGE_BYTES;
    recent_page &recent = now.recent[key % N_RECENT];
    if (recent.cells == nullptr || recent.key != key) {
        std::unique_ptr<page> &found = now.pages[key];
        if (found == nullptr) {
            found = std::make_unique<page>();
        }
        recent = {key, found.get()};
    }
    return recent.cells;
}

/* The cell that holds the byte at `address`. */
cell &cell_of(uintptr_t address) {
    return page_of(address)->cells[address % PAGE_BYTES / CELL_BYTES];
}

void on_launch() {
    the.touched_bytes = 0;
    now.launch_epoch = now.epoch + 1;
    now.blocks.clear();
    now.block_indices.clear();
}

void on_block() {
    now.block_epoch = ++now.epoch;
    now.blocks.push_back(now.epoch);
    now.block_indices.push_back(blockIdx);
    now.lanes.assign(the.threads.size(), knowledge());
    for (size_t i = 0; i < now.lanes.size(); i++) {
        now.lanes[i].of[i % 32] = 1;
    }
}

void on_barrier() {
    now.epoch++;
}

void on_meet(unsigned warp_index, unsigned mask) {
    knowledge all = {};
    knowledge *lanes = &now.lanes[warp_index * 32];
    for (unsigned i = 0; i < 32; i++) {
        for (unsigned k = 0; (mask >> i & 1U) && k < 32; k++) {
            all.of[k] = std::max(all.of[k], lanes[i].of[k]);
        }
    }
    for (unsigned i = 0; i < 32; i++) {
        if (mask >> i & 1U) {
            lanes[i] = all;
            lanes[i].of[i]++;
        }
    }
}

/* Whether `older` and an access of the current thread lack an order. */
inline bool clash(const record &older, const record &mine, bool is_shared) {
    if (older.epoch < now.launch_epoch || (older.atomic && mine.atomic)) {
        return false;
    }
    if (older.epoch < now.block_epoch) {
        return !is_shared; /* of another block, whose shared memory was different */
    }
    if (older.epoch != mine.epoch || older.thread == mine.thread) {
        return false;
    }
    if (older.thread / 32 != mine.thread / 32) {
        return true;
    }
    return now.lanes[mine.thread].of[older.thread % 32] < older.clock;
}

void report_race(const void *address, const record &older, const char *older_kind,
                 const record &mine, const char *kind) {
    const auto after = std::upper_bound(now.blocks.begin(), now.blocks.end(), older.epoch);
    const uint3 block = now.block_indices[static_cast<size_t>(after - now.blocks.begin()) - 1];
    const source_place other = place_resolve(older.place);
    const source_place here = place_resolve(mine.place);
    char name[200];
    report(here.file, here.line,
           "race on %s: this %s and the %s at %s:%d by thread %u of block (%u, %u, %u) have no "
           "order",
           place_of_address(address, name, sizeof(name)), kind, older_kind, other.file, other.line,
           older.thread, block.x, block.y, block.z);
}

/* False if the kernel may not touch it at all. */
bool allowed(const void *address, size_t n_bytes, bool writes, std::uint32_t place) {
    const char *verb = writes ? "writes" : "reads";
    const char *byte = static_cast<const char *>(address);
    if (shared_arena_holds(address)) {
        if (shared_find(address, n_bytes) != nullptr) {
            return true;
        }
        const source_place here = place_resolve(place);
        report(here.file, here.line, "%s %zu bytes outside of the arrays in shared memory", verb,
               n_bytes);
        return false;
    }
    if (tide_device_memory_holds(address, n_bytes)) {
        return true;
    }
    /* Constant tables of the program are memory that a kernel may read. */
    if (writes || byte < &__executable_start || byte >= &_end) {
        const source_place here = place_resolve(place);
        report(here.file, here.line, "%s %zu bytes at %p, which is not device memory", verb,
               n_bytes, address);
    }
    return false;
}

bool same_moment(const record &a, const record &b) {
    return a.epoch == b.epoch && a.thread == b.thread && a.clock == b.clock && a.atomic == b.atomic;
}

/* Whether this thread has made the same access since its last barrier. An access of another thread
 * in between would have been reported as a race already, so the check can be skipped. */
bool is_known(const cell &at, const record &mine, bool writes) {
    return same_moment(writes ? at.written : at.read, mine);
}

inline void remember(cell &at, const record &mine, bool writes) {
    if (writes) {
        at.written = mine;
        return;
    }
    if (at.read.thread != mine.thread || at.read.epoch < now.block_epoch) {
        at.read_other = at.read;
    }
    at.read = mine;
}

/* One access of the current thread, to memory that it may touch. */
void see(const void *address, size_t n_bytes, access kind, std::uint32_t place) {
    const unsigned thread = thread_number();
    const bool is_shared = shared_arena_holds(address);
    const bool writes = kind != access::read;
    const record mine = {now.epoch, now.lanes[thread].of[thread % 32], place,
                         static_cast<std::uint16_t>(thread),
                         static_cast<std::uint16_t>(kind == access::atomic ? 1 : 0)};
    const uintptr_t first = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{CELL_BYTES - 1};
    const uintptr_t end = reinterpret_cast<uintptr_t>(address) + n_bytes;
    bool said = false;
    char name[200];
    for (uintptr_t i = first; i < end; i += CELL_BYTES) {
        cell &at = cell_of(i);
        if (at.n_copies == 0 && is_known(at, mine, writes)) {
            continue;
        }
        if (!said && is_shared && kind != access::write && at.written.epoch < now.block_epoch) {
            said = true;
            const source_place here = place_resolve(place);
            report(here.file, here.line, "reads %s, which nothing has written",
                   place_of_address(address, name, sizeof(name)));
        }
        const char *verb = writes ? "write" : "read";
        if (!said && is_shared && at.n_copies > 0 && at.copy_epoch >= now.block_epoch) {
            said = true;
            const source_place here = place_resolve(place);
            report(here.file, here.line, "%s %s, into which a copy is on its way",
                   writes ? "writes" : "reads", place_of_address(address, name, sizeof(name)));
        }
        if (!said && clash(at.written, mine, is_shared)) {
            said = true;
            report_race(address, at.written, "write", mine, verb);
        }
        const bool by_other = writes && clash(at.read_other, mine, is_shared);
        if (!said && writes && (by_other || clash(at.read, mine, is_shared))) {
            said = true;
            report_race(address, by_other ? at.read_other : at.read, "read", mine, verb);
        }
        const record &before = writes ? at.written : at.read;
        if (!is_shared &&
            before.epoch < now.launch_epoch) { /* the first of its kind in the launch */
            the.touched_bytes += CELL_BYTES;
        }
        remember(at, mine, writes);
    }
}

/* Called by kernels that name their place, after touch() has checked the address. */
void on_access(const void *address, size_t n_bytes, access kind, const char *file, int line) {
    see(address, n_bytes, kind, place_from_source(file, line));
}

void on_copy(const void *address, size_t n_bytes, bool begins) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(address);
    for (uintptr_t i = first; i < first + n_bytes; i += CELL_BYTES) {
        cell &at = cell_of(i);
        at.read = {}; /* earlier reads of it are dropped */
        at.read_other = {};
        if (at.copy_epoch < now.block_epoch) {
            at.n_copies = 0; /* of a block that has ended */
        }
        at.copy_epoch = now.epoch;
        at.n_copies += begins ? 1U : static_cast<std::uint32_t>(-1);
    }
}

const race_hooks hooks = {on_launch, on_block, on_barrier, on_meet, on_access, on_copy};

struct connect {
    connect() {
        the.race = &hooks;
    }
} at_start;

/* The thread's own variables, and the launch's arguments. */
bool is_own(const void *address) {
    const char *byte = static_cast<const char *>(address);
    return (byte >= the.stack_low && byte < the.stack_high) ||
           (byte >= the.argument && byte < the.argument + the.argument_bytes);
}

} /* namespace */

/* From the compiler's calls. */
static inline void instrumented(const void *address, size_t n_bytes, bool writes, bool aligned,
                                const void *pc) {
    if (the.current == nullptr || the.combines || is_own(address)) {
        return;
    }
    const std::uint32_t place = place_from_code(pc);
    if (aligned && reinterpret_cast<uintptr_t>(address) % n_bytes != 0) {
        const source_place here = place_resolve(place);
        report(here.file, here.line, "%zu bytes at %p, which is not aligned to them", n_bytes,
               address);
    }
    if (allowed(address, n_bytes, writes, place)) {
        see(address, n_bytes, writes ? access::write : access::read, place);
    }
}

} /* namespace tide_emulator */

using tide_emulator::instrumented;

#define TIDE_RACE_CALLS(n_bytes)                                                                   \
    void __tsan_read##n_bytes(void *address);                                                      \
    void __tsan_read##n_bytes(void *address) {                                                     \
        instrumented(address, n_bytes, false, true, __builtin_return_address(0));                  \
    }                                                                                              \
    void __tsan_write##n_bytes(void *address);                                                     \
    void __tsan_write##n_bytes(void *address) {                                                    \
        instrumented(address, n_bytes, true, true, __builtin_return_address(0));                   \
    }                                                                                              \
    void __tsan_unaligned_read##n_bytes(void *address);                                            \
    void __tsan_unaligned_read##n_bytes(void *address) {                                           \
        instrumented(address, n_bytes, false, false, __builtin_return_address(0));                 \
    }                                                                                              \
    void __tsan_unaligned_write##n_bytes(void *address);                                           \
    void __tsan_unaligned_write##n_bytes(void *address) {                                          \
        instrumented(address, n_bytes, true, false, __builtin_return_address(0));                  \
    }

/* A read and a write in one, as clang calls it. */
#define TIDE_RACE_CALLS_CLANG(n_bytes)                                                             \
    void __tsan_read_write##n_bytes(void *address);                                                \
    void __tsan_read_write##n_bytes(void *address) {                                               \
        instrumented(address, n_bytes, false, true, __builtin_return_address(0));                  \
        instrumented(address, n_bytes, true, true, __builtin_return_address(0));                   \
    }                                                                                              \
    void __tsan_unaligned_read_write##n_bytes(void *address);                                      \
    void __tsan_unaligned_read_write##n_bytes(void *address) {                                     \
        instrumented(address, n_bytes, false, false, __builtin_return_address(0));                 \
        instrumented(address, n_bytes, true, false, __builtin_return_address(0));                  \
    }

extern "C" {
TIDE_RACE_CALLS(1)
TIDE_RACE_CALLS(2)
TIDE_RACE_CALLS(4)
TIDE_RACE_CALLS(8)
TIDE_RACE_CALLS(16)
TIDE_RACE_CALLS_CLANG(1)
TIDE_RACE_CALLS_CLANG(2)
TIDE_RACE_CALLS_CLANG(4)
TIDE_RACE_CALLS_CLANG(8)
TIDE_RACE_CALLS_CLANG(16)

void __tsan_read_range(void *address, size_t n_bytes);
void __tsan_read_range(void *address, size_t n_bytes) {
    instrumented(address, n_bytes, false, false, __builtin_return_address(0));
}
void __tsan_write_range(void *address, size_t n_bytes);
void __tsan_write_range(void *address, size_t n_bytes) {
    instrumented(address, n_bytes, true, false, __builtin_return_address(0));
}
void *__tsan_memcpy(void *to, const void *from, size_t n_bytes);
void *__tsan_memcpy(void *to, const void *from, size_t n_bytes) {
    instrumented(from, n_bytes, false, false, __builtin_return_address(0));
    instrumented(to, n_bytes, true, false, __builtin_return_address(0));
    return std::memcpy(to, from, n_bytes);
}
void *__tsan_memset(void *to, int byte, size_t n_bytes);
void *__tsan_memset(void *to, int byte, size_t n_bytes) {
    instrumented(to, n_bytes, true, false, __builtin_return_address(0));
    return std::memset(to, byte, n_bytes);
}
void __tsan_init(void);
void __tsan_init(void) {
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) {
    (void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}
}
