// unwinding.cpp - a C++ program that records itself: its exceptions, its backtrace() and its
// _Unwind_Backtrace remain the system's, although tidemark has loaded libunwind.
#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <tidemark.h>

namespace {

struct Recording { // what the program allocates through; 0 if missing
    tide_device *device = nullptr;
    tide_recorder *recorder = nullptr;
    tide_cache *cache = nullptr;
    tide_error error = {};

    bool begin() {
        return tide_device_open("virtual", nullptr, &device, &error) == TIDE_OK &&
               tide_recorder_create(nullptr, &recorder, &error) == TIDE_OK &&
               tide_cache_create(device, recorder, nullptr, &cache, &error) == TIDE_OK;
    }
    ~Recording() {
        tide_cache_destroy(cache);
        tide_recorder_destroy(recorder);
        tide_device_close(device);
    }
};

// A block that is freed when the exception passes.
class Block {
  public:
    explicit Block(tide_cache *cache) : cache_(cache) {
        const tide_tag tag = {TIDE_TEMPORARY, "block"};
        if (tide_cache_alloc(cache_, 4096, 0, &tag, &address_, nullptr) != TIDE_OK) {
            throw std::runtime_error("no block");
        }
    }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    ~Block() {
        if (tide_cache_release(cache_, address_, nullptr) != TIDE_OK) {
            std::fprintf(stderr, "a block could not be released\n");
        }
    }

  private:
    tide_cache *cache_;
    uint64_t address_ = 0;
};

[[gnu::noinline]] void sink(tide_cache *cache, int depth) {
    Block block(cache);
    if (depth == 0) {
        throw std::length_error("thrown");
    }
    sink(cache, depth - 1);
}

bool exceptions_work(tide_cache *cache) {
    for (int i = 0; i < 100; i++) {
        bool is_caught = false;
        try {
            sink(cache, 8);
        } catch (const std::length_error &error) {
            is_caught = std::strcmp(error.what(), "thrown") == 0;
        }
        if (!is_caught) {
            return false;
        }
    }
    tide_cache_stats stats;
    tide_cache_get_stats(cache, &stats);
    return stats.allocated_bytes[TIDE_POOL_ALL].current == 0 &&
           stats.allocation[TIDE_POOL_ALL].allocated == 900;
}

_Unwind_Reason_Code count_frame(_Unwind_Context *, void *n_frames) {
    ++*static_cast<int *>(n_frames);
    return _URC_NO_REASON;
}

// The file that a name of this process binds to must be the one of the system.
bool is_bound_to(const char *symbol, const char *file) {
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, symbol);
    if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
        std::fprintf(stderr, "%s binds to nothing\n", symbol);
        return false;
    }
    const char *slash = std::strrchr(info.dli_fname, '/');
    const char *name = slash != nullptr ? slash + 1 : info.dli_fname;
    if (std::strncmp(name, file, std::strlen(file)) != 0) {
        std::fprintf(stderr, "%s binds to %s, expected %s\n", symbol, info.dli_fname, file);
        return false;
    }
    return true;
}

bool all_bound_to_system() {
    bool is_fine = is_bound_to("backtrace", "libc.so");
    is_fine = is_bound_to("_Unwind_Backtrace", "libgcc_s.so") && is_fine;
    is_fine = is_bound_to("_Unwind_RaiseException", "libgcc_s.so") && is_fine;
    if (dlsym(RTLD_DEFAULT, "unw_backtrace") != nullptr) {
        std::fprintf(stderr, "libunwind's names are visible to the whole program\n");
        is_fine = false;
    }
    return is_fine;
}

bool walks_work() {
    void *pcs[64];
    int n_frames = 0;
    _Unwind_Backtrace(count_frame, &n_frames);
    return backtrace(pcs, 64) >= 2 && n_frames >= 2;
}

} // namespace

int main() {
    Recording recording;
    if (!recording.begin()) {
        std::fprintf(stderr, "%s\n", recording.error.message);
        return 2;
    }
    const char *missing = tide_recorder_stacks_missing(recording.recorder);
    if (missing != nullptr) { // then there is nothing to hide
        std::fprintf(stderr, "%s\n", missing);
        return 77;
    }
    if (!exceptions_work(recording.cache)) {
        std::fprintf(stderr, "exceptions do not unwind as they should\n");
        return 1;
    }
    if (!all_bound_to_system()) {
        return 1;
    }
    if (!walks_work()) {
        std::fprintf(stderr, "the system's unwinder finds no frames\n");
        return 1;
    }
    std::printf("exceptions and backtraces are the system's\n");
    return 0;
}
