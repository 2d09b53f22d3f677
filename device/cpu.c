/* cpu.c - host memory from a pool with a capacity. Addresses are those of the virtual device. Each
 * maps to a place in one reservation of the host's address space, in which only live segments can
 * be read and written.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/text/bytes.h"
#include "common/files/text_file.h"
#include "device/host_internal.h"

static unsigned char *host_pointer(const tide_device_host *host, uint64_t address) {
    return host->pool + (address - TIDE_DEVICE_BASE_ADDRESS);
}

static void cpu_close(tide_device *device) {
    tide_device_host *host = (tide_device_host *)device;
    munmap(host->pool, (size_t)host->space.extent_bytes);
    tide_device_host_destroy(host);
}

/* Makes the n_bytes at `address` readable and writable. */
static tide_status commit(const tide_device_host *host, uint64_t address, uint64_t n_bytes,
                          tide_error *error) {
    if (mprotect(host_pointer(host, address), (size_t)n_bytes, PROT_READ | PROT_WRITE) == 0) {
        return TIDE_OK;
    }
    char text[TIDE_BYTES_TEXT];
    return tide_fail(error, TIDE_DEVICE_OOM, "the host refuses %s more memory: %s",
                     tide_bytes_format((int64_t)n_bytes, text), strerror(errno));
}

/* Returns the pages to the host and protects the place, so a use after the release faults. If
 * either call fails, memory or that guard is lost, but nothing is incorrect. */
static void decommit(const tide_device_host *host, uint64_t address, uint64_t n_bytes) {
    (void)madvise(host_pointer(host, address), (size_t)n_bytes, MADV_DONTNEED);
    (void)mprotect(host_pointer(host, address), (size_t)n_bytes, PROT_NONE);
}

static tide_status cpu_alloc(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                             tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    uint64_t address = 0;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_take(&host->space, n_bytes, &address, error);
    if (status != TIDE_OK) {
        goto done;
    }
    status = commit(host, address, tide_address_space_find(&host->space, address), error);
    if (status != TIDE_OK) {
        tide_status undone = tide_address_space_give_back(&host->space, address, NULL);
        (void)undone; /* it was taken a few lines above */
        goto done;
    }
    *ret_address = address;
done:
    pthread_mutex_unlock(&host->lock);
    return status;
}

static tide_status cpu_release(tide_device *device, uint64_t address, tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    uint64_t n_bytes = tide_address_space_find(&host->space, address);
    tide_status status = tide_address_space_give_back(&host->space, address, error);
    if (status == TIDE_OK) {
        decommit(host, address, n_bytes);
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

static tide_status cpu_map(tide_device *device, uint64_t address, size_t n_bytes,
                           size_t granule_bytes, tide_error *error) {
    (void)granule_bytes; /* the host maps pages */
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_map(&host->space, address, n_bytes, error);
    if (status == TIDE_OK) {
        status = commit(host, address, n_bytes, error);
        if (status != TIDE_OK) {
            tide_status undone = tide_address_space_unmap(&host->space, address, n_bytes, NULL);
            (void)undone; /* it was mapped a few lines above */
        }
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

static tide_status cpu_unmap(tide_device *device, uint64_t address, size_t granule_bytes,
                             tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_unmap(&host->space, address, granule_bytes, error);
    if (status == TIDE_OK) {
        decommit(host, address, granule_bytes);
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

static void *cpu_pointer(tide_device *device, uint64_t address) {
    return host_pointer((tide_device_host *)device, address);
}

static tide_status cpu_copy(tide_device *device, void *dst, const void *src, size_t n_bytes,
                            tide_copy_direction direction, tide_stream stream, tide_error *error) {
    (void)device;
    (void)direction;
    (void)stream;
    (void)error;
    memmove(dst, src, n_bytes);
    return TIDE_OK;
}

static tide_status cpu_set(tide_device *device, void *dst, int byte, size_t n_bytes,
                           tide_stream stream, tide_error *error) {
    (void)device;
    (void)stream;
    (void)error;
    memset(dst, byte, n_bytes);
    return TIDE_OK;
}

static const tide_device_table CPU_TABLE = {
    .close = cpu_close,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .pointer = cpu_pointer,
    .copy = cpu_copy,
    .set = cpu_set,
    TIDE_DEVICE_HOST_MEMBERS,
    .map = cpu_map,
    .unmap = cpu_unmap,
};

/* Reads a file that holds one number; false for "max" and for missing files. */
static bool read_number(const char *path, uint64_t *ret_number) {
    char text[64] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    bool read = fgets(text, sizeof(text), file) != NULL;
    (void)fclose(file);
    char *end = text;
    uint64_t number = strtoull(text, &end, 10);
    if (!read || end == text) {
        return false;
    }
    *ret_number = number;
    return true;
}

static uint64_t less_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Free memory of the host: MemAvailable, or less if a cgroup (version 2 or 1) allows less. */
static uint64_t host_free_bytes(void) {
    static const struct {
        const char *limit;
        const char *used;
    } GROUPS[] = {{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
                  {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                   "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    char text[64] = "";
    uint64_t free_bytes = 0;
    if (tide_text_file_value("/proc/meminfo", "MemAvailable", ':', text, sizeof(text))) {
        free_bytes = strtoull(text, NULL, 10) * 1024;
    }
    for (size_t i = 0; i < sizeof(GROUPS) / sizeof(GROUPS[0]); i++) {
        uint64_t limit = 0;
        uint64_t used = 0;
        if (read_number(GROUPS[i].limit, &limit) && read_number(GROUPS[i].used, &used)) {
            free_bytes = less_of(free_bytes, limit > used ? limit - used : 0);
        }
    }
    return free_bytes / TIDE_DEVICE_GRANULE * TIDE_DEVICE_GRANULE;
}

/* The largest cache of the first processor, as the kernel reports it ("32768K"). sysconf computes
 * it from CPUID, which is ten times too large on some virtual machines. */
static int64_t host_cache_bytes(void) {
    uint64_t most_kib = 0;
    for (int i = 0; i < 8; i++) {
        char path[96];
        uint64_t kib = 0;
        (void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (read_number(path, &kib) && kib > most_kib) {
            most_kib = kib;
        }
    }
    return most_kib > 0 && most_kib < UINT64_C(1) << 40 ? (int64_t)most_kib * 1024 : -1;
}

tide_status tide_device_cpu_open(const tide_device_options *options, tide_device **ret_device,
                                 tide_error *error) {
    tide_device_info info = {.kind = TIDE_DEVICE_CPU,
                             .spec = "cpu",
                             .name = "cpu",
                             .context_bytes = 0,
                             .compute_capability = -1,
                             .driver_version = -1,
                             .runtime_version = -1,
                             .sm_clock_khz = -1,
                             .memory_clock_khz = -1,
                             .memory_bus_bits = -1,
                             .cache_bytes = host_cache_bytes(),
                             .computes = true};
    (void)tide_text_file_value("/proc/cpuinfo", "model name", ':', info.name, sizeof(info.name));
    uint64_t total_bytes = options != NULL ? options->capacity_bytes : 0;
    if (total_bytes == 0) {
        total_bytes = host_free_bytes();
    }
    tide_device_host *host = NULL;
    TIDE_TRY(tide_device_host_create(&CPU_TABLE, options, &info, total_bytes, &host, error));
    void *pool = mmap(NULL, (size_t)host->space.extent_bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool == MAP_FAILED) {
        char text[TIDE_BYTES_TEXT];
        tide_status status = tide_fail(
            error, TIDE_NO_MEMORY,
            "cannot reserve %s of addresses for the cpu device: %s; raise the limit that ulimit -v "
            "shows, or give the device a smaller capacity",
            tide_bytes_format((int64_t)host->space.extent_bytes, text), strerror(errno));
        tide_device_host_destroy(host);
        return status;
    }
    host->pool = pool;
    *ret_device = &host->base;
    return TIDE_OK;
}
