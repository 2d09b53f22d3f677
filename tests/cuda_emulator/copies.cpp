/* copies.cpp - copies from global to shared memory that take effect at the wait that covers them.
 */
#include "machine.h"

#include <cstring>

#include "emulator_mma.h"

namespace tide_emulator {

namespace {

/* One copy that a thread has begun. */
struct copy {
    char *to;         /* 16 bytes of shared memory */
    const char *from; /* n_bytes of device memory */
    unsigned n_bytes; /* 0 to 16; zeros follow them */
    unsigned group;   /* number of its group, from 0 */
};

struct copy_queue {
    std::vector<copy> begun; /* oldest first */
    unsigned n_groups;       /* groups committed so far, the number of the open group */
};

std::vector<copy_queue> queues; /* by thread of the block; empty until a thread copies */

copy_queue &mine() {
    if (queues.empty()) {
        queues.resize(the.threads.size());
    }
    return queues[thread_number()];
}

} /* namespace */

void copies_begin_block() {
    queues.clear();
}

void copy_begin(void *to, const void *from, unsigned n_bytes, const char *file, int line) {
    if (n_bytes > 16) {
        report(file, line, "copies %u bytes: 16 at most", n_bytes);
        return;
    }
    if (!shared_arena_holds(to) || shared_arena_holds(from)) {
        report(file, line, "copies from %p to %p: it must be from global to shared memory", from,
               to);
        return;
    }
    if (reinterpret_cast<uintptr_t>(from) % 16 != 0) {
        report(file, line, "copies from %p, which is not aligned to 16", from);
        return;
    }
    if (!touch(to, 16, access::write, 16, file, line) ||
        (n_bytes > 0 && !touch(from, n_bytes, access::read, 16, file, line))) {
        return;
    }
    std::memset(to, 0xFF, 16); /* until the wait the bytes are neither old nor new */
    copy_queue &queue = mine();
    queue.begun.push_back(
        {static_cast<char *>(to), static_cast<const char *>(from), n_bytes, queue.n_groups});
    if (the.race != nullptr) {
        the.race->copy(to, 16, true);
    }
}

void copy_commit() {
    mine().n_groups++;
}

void copy_wait(unsigned n_groups, const char *file, int line) {
    copy_queue &queue = mine();
    size_t n_done = 0;
    for (const copy &each : queue.begun) {
        if (each.group + n_groups >= queue.n_groups) {
            break;
        }
        if (the.race != nullptr) {
            the.race->copy(each.to, 16, false);
        }
        if (touch(each.to, 16, access::write, 16, file, line)) {
            std::memset(each.to, 0, 16);
            std::memcpy(each.to, each.from, each.n_bytes);
        }
        n_done++;
    }
    queue.begun.erase(queue.begun.begin(),
                      queue.begun.begin() + static_cast<std::ptrdiff_t>(n_done));
}

} /* namespace tide_emulator */
