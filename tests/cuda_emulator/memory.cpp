/* memory.cpp - shared memory of the running block, device memory, and which addresses a kernel may
 * touch. */
#include "machine.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#include "device_memory.h"

#if TIDE_EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tide_emulator {

namespace {

constexpr size_t GAP_BYTES = 64; /* between arrays in shared memory, and around device memory */
constexpr int GAP_BYTE = 0xA5;   /* their fill */
constexpr int FRESH_BYTE = 0xFF; /* as a number it is NaN */
constexpr size_t ARENA_BYTES = SHARED_LARGEST + 128 * GAP_BYTES;

alignas(128) char arena[ARENA_BYTES];
size_t arena_used; /* by arrays and the gaps before them */

struct device_range {
    size_t n_bytes;  /* registered */
    bool own;        /* from tide_emulator_alloc: gaps surround it */
    char *pages;     /* owned, of hidden memory; nullptr: the host may touch it */
    size_t n_mapped; /* bytes of the pages */
};

bool hides_memory; /* of later allocations */

std::map<const char *, device_range> &ranges() {
    static std::map<const char *, device_range> all; /* by base */
    return all;
}

/* The range that begins at or before the address; nullptr: none. */
const std::pair<const char *const, device_range> *range_before(const char *address) {
    auto after = ranges().upper_bound(address);
    return after == ranges().begin() ? nullptr : &*std::prev(after);
}

void protect(const device_range &range, int how) {
    if (range.pages != nullptr && mprotect(range.pages, range.n_mapped, how) != 0) {
        report(nullptr, 0, "cannot change who may touch %zu bytes", range.n_mapped);
    }
}

void protect_all(int how) {
    for (const auto &each : ranges()) {
        protect(each.second, how);
    }
}

/* Around copies by the host to and from a range. */
struct opened {
    explicit opened(const void *memory) : found(range_before(static_cast<const char *>(memory))) {
        if (found != nullptr) {
            protect(found->second, PROT_READ | PROT_WRITE);
        }
    }
    ~opened() {
        if (found != nullptr) {
            protect(found->second, PROT_NONE);
        }
    }
    opened(const opened &) = delete;
    opened &operator=(const opened &) = delete;
    const std::pair<const char *const, device_range> *found; /* the range; nullptr: none */
};

void open_bytes(char *base, size_t n_bytes) {
#if TIDE_EMULATOR_ASAN
    __asan_unpoison_memory_region(base, n_bytes);
#endif
    std::memset(base, FRESH_BYTE, n_bytes);
}

/* In the arena: a gap, then the array; nullptr if there is no room. */
char *take(size_t n_bytes) {
    const size_t at = (arena_used + GAP_BYTES + 15) / 16 * 16;
    if (at + n_bytes + GAP_BYTES > ARENA_BYTES) {
        return nullptr;
    }
#if !TIDE_EMULATOR_ASAN
    std::memset(arena + arena_used, GAP_BYTE, at - arena_used);
    std::memset(arena + at + n_bytes, GAP_BYTE, GAP_BYTES);
#endif
    arena_used = at + n_bytes;
    open_bytes(arena + at, n_bytes);
    return arena + at;
}

bool untouched(const char *from, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) {
        if (static_cast<unsigned char>(from[i]) != GAP_BYTE) {
            return false;
        }
    }
    return true;
}

} /* namespace */

void device_memory_open() {
    protect_all(PROT_READ | PROT_WRITE);
}

void device_memory_close() {
    protect_all(PROT_NONE);
}

void shared_begin_block(size_t dynamic_bytes) {
#if TIDE_EMULATOR_ASAN
    __asan_poison_memory_region(arena, ARENA_BYTES);
#endif
    arena_used = 0;
    the.shared.clear();
    the.shared_bytes = dynamic_bytes;
    the.shared.push_back({nullptr, "dynamic shared memory", take(dynamic_bytes), dynamic_bytes});
}

void shared_end_block() {
#if !TIDE_EMULATOR_ASAN
    for (const shared_range &each : the.shared) {
        if (!untouched(each.base + each.n_bytes, GAP_BYTES) ||
            !untouched(each.base - GAP_BYTES, GAP_BYTES)) {
            report(nullptr, 0, "wrote outside of '%s' (%zu bytes of shared memory)", each.name,
                   each.n_bytes);
            return;
        }
    }
#endif
}

void *shared_array(const void *key, size_t n_bytes, const char *name, const char *file, int line) {
    for (const shared_range &each : the.shared) {
        if (each.key == key) {
            return each.base;
        }
    }
    the.shared_bytes += n_bytes;
    if (the.shared_bytes > the.shared_limit) {
        report(file, line, "'%s' makes %zu bytes of shared memory: %zu at most", name,
               the.shared_bytes, the.shared_limit);
    }
    char *base = take(n_bytes);
    if (base == nullptr) {
        report(file, line, "'%s' of %zu bytes does not fit any block", name, n_bytes);
        std::abort();
    }
    the.shared.push_back({key, name, base, n_bytes});
    return base;
}

void *dynamic_shared(const char *file, int line) {
    if (the.shared[0].n_bytes == 0) {
        report(file, line, "uses dynamic shared memory, but was launched with none");
    }
    return the.shared[0].base;
}

bool shared_arena_holds(const void *address) {
    const char *byte = static_cast<const char *>(address);
    return byte >= arena && byte < arena + ARENA_BYTES;
}

const shared_range *shared_find(const void *address, size_t n_bytes) {
    const char *byte = static_cast<const char *>(address);
    for (const shared_range &each : the.shared) {
        if (byte >= each.base && byte + n_bytes <= each.base + each.n_bytes) {
            return &each;
        }
    }
    return nullptr;
}

bool touch(const void *address, size_t n_bytes, access kind, size_t alignment, const char *file,
           int line) {
    const char *verb = kind == access::read ? "reads" : "writes";
    if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
        report(file, line, "%s %zu bytes at %p, which is not aligned to %zu", verb, n_bytes,
               address, alignment);
        return false;
    }
    if (shared_arena_holds(address)) {
        if (shared_find(address, n_bytes) == nullptr) {
            report(file, line, "%s %zu bytes outside of the arrays in shared memory", verb,
                   n_bytes);
            return false;
        }
    } else if (!tide_device_memory_holds(address, n_bytes)) {
        report(file, line, "%s %zu bytes at %p, which is not device memory", verb, n_bytes,
               address);
        return false;
    }
    if (the.race != nullptr) {
        the.race->see(address, n_bytes, kind, file, line);
    }
    return true;
}

void check_argument(const char *kernel, unsigned position, const volatile void *address) {
    const void *plain = const_cast<const void *>(address);
    if (plain == nullptr || tide_device_memory_holds(plain, 0)) {
        return;
    }
    const char *before = the.kernel;
    the.kernel = kernel;
    report(nullptr, 0, "launched with argument %u = %p, which is not device memory", position,
           plain);
    the.kernel = before;
}

} /* namespace tide_emulator */

using tide_emulator::GAP_BYTE;
using tide_emulator::GAP_BYTES;
using tide_emulator::ranges;

void tide_device_memory_register(void *base, size_t n_bytes) {
    ranges()[static_cast<const char *>(base)] = {n_bytes, false, nullptr, 0};
}

bool tide_device_memory_unregister(void *base) {
    return ranges().erase(static_cast<const char *>(base)) != 0;
}

bool tide_device_memory_holds(const void *address, size_t n_bytes) {
    const char *byte = static_cast<const char *>(address);
    const auto *range = tide_emulator::range_before(byte);
    return range != nullptr && byte + n_bytes <= range->first + range->second.n_bytes;
}

namespace {

/* Whole pages, with a gap before and after the n_bytes; nullptr if there is no memory. Under ASan
 * the gaps are poisoned. */
char *map_hidden(size_t n_bytes, size_t gap, tide_emulator::device_range *range) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    range->n_mapped = (n_bytes + 2 * gap + page - 1) / page * page;
    void *pages =
        mmap(nullptr, range->n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return nullptr;
    }
    range->pages = static_cast<char *>(pages);
    char *base = range->pages + gap;
    std::memset(range->pages, GAP_BYTE, range->n_mapped);
    std::memset(base, tide_emulator::FRESH_BYTE, n_bytes);
#if TIDE_EMULATOR_ASAN
    __asan_poison_memory_region(range->pages, gap);
    __asan_poison_memory_region(base + n_bytes, range->n_mapped - gap - n_bytes);
#endif
    tide_emulator::protect(*range, PROT_NONE);
    return base;
}

void unmap_hidden(const tide_emulator::device_range &range) {
#if TIDE_EMULATOR_ASAN
    __asan_unpoison_memory_region(range.pages, range.n_mapped);
#endif
    (void)munmap(range.pages, range.n_mapped);
}

} /* namespace */

void tide_emulator_hide_memory(bool hides) {
    tide_emulator::hides_memory = hides;
}

void tide_emulator_write(void *memory, const void *bytes, size_t n_bytes) {
    const tide_emulator::opened range(memory);
    std::memcpy(memory, bytes, n_bytes);
}

void tide_emulator_read(void *ret_bytes, const void *memory, size_t n_bytes) {
    const tide_emulator::opened range(memory);
    std::memcpy(ret_bytes, memory, n_bytes);
}

/* Under ASan its red zones replace ours. */
void *tide_emulator_alloc(size_t n_bytes) {
    void *memory = nullptr;
    if (tide_emulator::hides_memory) {
        tide_emulator::device_range range = {n_bytes, true, nullptr, 0};
        char *base = map_hidden(n_bytes, 256, &range);
        if (base != nullptr) {
            ranges()[base] = range;
        }
        return base;
    }
    const size_t gap = TIDE_EMULATOR_ASAN ? 0 : 256;
    if (posix_memalign(&memory, 256, n_bytes + 2 * gap) != 0) {
        return nullptr;
    }
    char *base = static_cast<char *>(memory) + gap;
    std::memset(memory, GAP_BYTE, n_bytes + 2 * gap);
    std::memset(base, tide_emulator::FRESH_BYTE, n_bytes);
    ranges()[base] = {n_bytes, true, nullptr, 0};
    return base;
}

void tide_emulator_release(void *memory) {
    if (memory == nullptr) {
        return;
    }
    char *base = static_cast<char *>(memory);
    const auto found = ranges().find(base);
    if (found == ranges().end() || !found->second.own) {
        tide_emulator::report(nullptr, 0, "release of %p, which was not allocated", memory);
        return;
    }
    const tide_emulator::device_range range = found->second;
    const size_t gap = TIDE_EMULATOR_ASAN ? 0 : 256;
    tide_emulator::protect(range, PROT_READ | PROT_WRITE);
    if (!tide_emulator::untouched(base - gap, gap) ||
        !tide_emulator::untouched(base + range.n_bytes, gap)) {
        tide_emulator::report(nullptr, 0, "a kernel wrote outside of %zu bytes of device memory",
                              range.n_bytes);
    }
    ranges().erase(found);
    if (range.pages != nullptr) {
        unmap_hidden(range);
    } else {
        std::free(base - gap);
    }
}
