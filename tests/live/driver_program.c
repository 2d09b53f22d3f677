/* driver_program.c - allocates all kinds of memory and frees some of it: driver_program HOW
 *
 * Prints what should be recorded, a row a line ("device_alloc cuMemAlloc_v2 1048576"), and the
 * bytes in use according to the driver. HOW is the way to find the driver: linked, dlsym, proc (by
 * cuGetProcAddress), again (by a cuGetProcAddress that was found by itself), old (by that of CUDA
 * 11), thread (for streams of the thread). forked: allocates memory in a forked child, and prints
 * the numbers of both processes. reset: linked, and only resets the device by each function that
 * does.
 */
#define _GNU_SOURCE /* RTLD_NEXT, RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

#ifdef LINKED
extern int cuMemAlloc_v2(uint64_t *ret_address, size_t n_bytes);
#endif

typedef int find_function(const char *name, void **ret_function, int version, uint64_t flags,
                          int *ret_found);
typedef int find_old_function(const char *name, void **ret_function, int version, uint64_t flags);

static const char *how;
static void *cuda;
static find_function *find_by_name;
static find_old_function *find_by_old_name;

static int is_linked(void) {
    return strcmp(how, "linked") == 0 || strcmp(how, "reset") == 0;
}

static void check(int is_true, const char *what) {
    if (!is_true) {
        (void)fprintf(stderr, "%s: %s\n", how, what);
        exit(1);
    }
}

/* The function `name`, which has the version `suffix` at the driver. */
static void find(void *to, const char *name, const char *suffix) {
    char whole[128];
    void *found = NULL;
    (void)snprintf(whole, sizeof(whole), "%s%s", name, suffix);
    if (is_linked()) {
        found = dlsym(RTLD_DEFAULT, whole);
    } else if (find_by_name != NULL) {
        int is_missing = -1;
        check(find_by_name(name, &found, 13000, strcmp(how, "thread") == 0 ? 2 : 0, &is_missing) ==
                  0,
              name);
        check(is_missing == 0, name);
    } else if (find_by_old_name != NULL) {
        check(find_by_old_name(name, &found, 11080, 0) == 0, name);
    } else {
        found = dlsym(cuda, whole);
    }
    check(found != NULL, whole);
    memcpy(to, &found, sizeof(found));
}

static void expect(const char *action, const char *function, size_t n_bytes) {
    printf("%s %s %zu\n", action, function, n_bytes);
}

/* ---- the driver ---- */

static int (*get_info)(size_t *, size_t *);
static size_t free_bytes(void) {
    size_t n_free = 0;
    size_t n_total = 0;
    check(get_info(&n_free, &n_total) == 0, "cuMemGetInfo");
    return n_free;
}

static void open_driver(void) {
    if (is_linked()) {
        return;
    }
    check(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == NULL,
          "a driver that is not loaded has functions");
    check(dlsym(RTLD_DEFAULT, "cudaMalloc") == NULL, "a runtime that is not loaded has functions");
    check(dlerror() != NULL, "and there is no reason");
    cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    check(cuda != NULL, "libcuda.so.1");
    check(dlsym(cuda, "cuNotThere") == NULL && dlsym(cuda, "cuMemAllocFromPoolAsync_ptsz") == NULL,
          "functions that are not there");
    if (strcmp(how, "old") == 0) {
        find(&find_by_old_name, "cuGetProcAddress", "");
    } else if (strcmp(how, "dlsym") != 0 && strcmp(how, "forked") != 0) {
        find(&find_by_name, "cuGetProcAddress", "_v2");
    }
    if (strcmp(how, "again") == 0) {
        find(&find_by_name, "cuGetProcAddress", "_v2");
    }
}

/* ---- memory ---- */

static void use_addresses(void) {
    int (*alloc)(uint64_t *, size_t) = NULL;
    int (*alloc_pitch)(uint64_t *, size_t *, size_t, size_t, unsigned) = NULL;
    int (*alloc_managed)(uint64_t *, size_t, unsigned) = NULL;
    int (*release)(uint64_t) = NULL;
    uint64_t kept = 0;
    uint64_t other = 0;
    uint64_t managed = 0;
    size_t pitch = 0;
    find(&alloc, "cuMemAlloc", "_v2");
    find(&alloc_pitch, "cuMemAllocPitch", "_v2");
    find(&alloc_managed, "cuMemAllocManaged", "");
    find(&release, "cuMemFree", "_v2");
#ifdef LINKED
    alloc = cuMemAlloc_v2;
#endif
    check(alloc(&kept, 3 * MIB) == 0 && alloc(&other, 5 * MIB) == 0, "cuMemAlloc");
    expect("device_alloc", "cuMemAlloc_v2", 3 * MIB);
    expect("device_alloc", "cuMemAlloc_v2", 5 * MIB);
    check(alloc(&other, (size_t)100 << 30) == 2, "more than there is");
    check(release(other) == 0, "cuMemFree");
    expect("device_free", "cuMemFree_v2", 5 * MIB);
    check(release(12345) == 1 && release(0) == 0, "nothing to release");
    check(alloc_pitch(&other, &pitch, 1000, 10, 4) == 0 && pitch == 1024, "cuMemAllocPitch");
    expect("device_alloc", "cuMemAllocPitch_v2", (size_t)1024 * 10);
    check(alloc_managed(&managed, 7 * MIB, 1) == 0, "cuMemAllocManaged");
    expect("device_alloc", "cuMemAllocManaged", 7 * MIB);
    check(release(managed) == 0, "cuMemFree");
    expect("device_free", "cuMemFree_v2", 7 * MIB);
}

static void use_streams(void) {
    int is_thread = strcmp(how, "thread") == 0;
    int (*alloc)(uint64_t *, size_t, void *) = NULL;
    int (*release)(uint64_t, void *) = NULL;
    int (*alloc_from)(uint64_t *, size_t, void *, void *) = NULL;
    uint64_t address = 0;
    uint64_t pooled = 0;
    find(&alloc, "cuMemAllocAsync", "");
    find(&release, "cuMemFreeAsync", "");
    find(&alloc_from, "cuMemAllocFromPoolAsync", "");
    check(alloc(&address, 11 * MIB, NULL) == 0, "cuMemAllocAsync");
    expect("device_alloc", is_thread ? "cuMemAllocAsync_ptsz" : "cuMemAllocAsync", 11 * MIB);
    check(alloc_from(&pooled, 2 * MIB, NULL, NULL) == 0, "cuMemAllocFromPoolAsync");
    expect("device_alloc", is_thread ? "cuMemAllocFromPoolAsync_ptsz" : "cuMemAllocFromPoolAsync",
           2 * MIB);
    check(release(address, NULL) == 0, "cuMemFreeAsync");
    expect("device_free", is_thread ? "cuMemFreeAsync_ptsz" : "cuMemFreeAsync", 11 * MIB);
    if (cuda != NULL) {
        const int *n_per_thread = dlsym(cuda, "fake_n_per_thread");
        check(n_per_thread != NULL && *n_per_thread == (is_thread ? 2 : 0), "the thread's streams");
    }
}

static void use_physical(void) {
    int (*create)(uint64_t *, size_t, const int *, unsigned long long) = NULL;
    int (*retain)(uint64_t *, void *) = NULL;
    int (*release)(uint64_t) = NULL;
    int (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long) = NULL;
    int (*unmap)(uint64_t, size_t) = NULL;
    const int properties[8] = {1, 1, 1, 0};
    uint64_t handle = 0;
    const uint64_t first = (uint64_t)1 << 30;
    const uint64_t second = (uint64_t)2 << 30;
    find(&create, "cuMemCreate", "");
    find(&retain, "cuMemRetainAllocationHandle", "");
    find(&release, "cuMemRelease", "");
    find(&map, "cuMemMap", "");
    find(&unmap, "cuMemUnmap", "");
    check(create(&handle, 20 * MIB, properties, 0) == 0, "cuMemCreate");
    expect("physical_alloc", "cuMemCreate", 20 * MIB);
    check(map(first, 20 * MIB, 0, handle, 0) == 0 && release(handle) == 0, "cuMemMap");
    check(create(&handle, 40 * MIB, properties, 0) == 0, "cuMemCreate");
    expect("physical_alloc", "cuMemCreate", 40 * MIB);
    check(map(second, 40 * MIB, 0, handle, 0) == 0, "cuMemMap");
    /* The first is no longer mapped, and its handle now belongs to the second. */
    check(unmap(first, 20 * MIB) == 0, "cuMemUnmap");
    expect("physical_free", "cuMemUnmap", 20 * MIB);
    check(retain(&handle, (void *)(uintptr_t)second) == 0 && release(handle) == 0, "retain");
    check(unmap(second, 40 * MIB) == 0 && release(handle) == 0, "cuMemRelease");
    expect("physical_free", "cuMemRelease", 40 * MIB);
    check(create(&handle, 60 * MIB, properties, 0) == 0, "cuMemCreate");
    expect("physical_alloc", "cuMemCreate", 60 * MIB);
}

static void use_host(void) {
    int (*alloc)(void **, size_t, unsigned) = NULL;
    int (*alloc_too)(void **, size_t) = NULL;
    int (*pin)(void *, size_t, unsigned) = NULL;
    int (*unpin)(void *) = NULL;
    int (*release)(void *) = NULL;
    static char page[4096];
    void *address = NULL;
    find(&alloc, "cuMemHostAlloc", "");
    find(&alloc_too, "cuMemAllocHost", "_v2");
    find(&pin, "cuMemHostRegister", "_v2");
    find(&unpin, "cuMemHostUnregister", "");
    find(&release, "cuMemFreeHost", "");
    check(alloc_too(&address, MIB) == 0, "cuMemAllocHost");
    expect("host_alloc", "cuMemAllocHost_v2", MIB);
    check(alloc(&address, 2 * MIB, 0) == 0, "cuMemHostAlloc");
    expect("host_alloc", "cuMemHostAlloc", 2 * MIB);
    check(release(address) == 0, "cuMemFreeHost");
    expect("host_free", "cuMemFreeHost", 2 * MIB);
    check(pin(page, sizeof(page), 0) == 0 && unpin(page) == 0, "cuMemHostRegister");
    expect("host_alloc", "cuMemHostRegister_v2", sizeof(page));
    expect("host_free", "cuMemHostUnregister", sizeof(page));
    if (find_by_name != NULL) {
        /* A version unknown here must stay unchanged. */
        int (*newer)(void *, int) = NULL;
        void *found = NULL;
        check(find_by_name("cuMemFreeHost", &found, 99000, 0, NULL) == 0, "a newer version");
        memcpy(&newer, &found, sizeof(found));
        check(newer(NULL, 3) == 33, "a newer version has its arguments");
    }
}

static void use_objects(void) {
    int (*create)(void **, const void *) = NULL;
    int (*destroy)(void *) = NULL;
    int (*load)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned) = NULL;
    int (*unload)(void *) = NULL;
    struct {
        size_t width, height;
        int format, n_parts;
    } floats = {100, 10, 0x20, 2};
    void *array = NULL;
    void *library = NULL;
    find(&create, "cuArrayCreate", "_v2");
    find(&destroy, "cuArrayDestroy", "");
    find(&load, "cuLibraryLoadData", "");
    find(&unload, "cuLibraryUnload", "");
    check(create(&array, &floats) == 0, "cuArrayCreate");
    expect("device_alloc", "cuArrayCreate_v2", 8000);
    check(destroy(array) == 0, "cuArrayDestroy");
    expect("device_free", "cuArrayDestroy", 8000);
    check(load(&library, "", NULL, NULL, 5, NULL, NULL, 8) == 0, "cuLibraryLoadData");
    expect("device_alloc", "cuLibraryLoadData", 3 * MIB);
    check(unload(library) == 0, "cuLibraryUnload");
    expect("device_free", "cuLibraryUnload", 3 * MIB);
}

struct ipc_handle {
    char bytes[64];
};

static void use_graphs_and_others(void) {
    int (*add_alloc)(void **, void *, const void *, size_t, void *) = NULL;
    int (*add_free)(void **, void *, const void *, size_t, uint64_t) = NULL;
    int (*open_other)(uint64_t *, struct ipc_handle, unsigned) = NULL;
    int (*close_other)(uint64_t) = NULL;
    struct {
        int properties[26];
        uint64_t n_bytes, address;
    } memory = {.n_bytes = 4 * MIB};
    struct ipc_handle handle = {{0}};
    uint64_t address = 0;
    void *node = NULL;
    handle.bytes[63] = 63;
    find(&add_alloc, "cuGraphAddMemAllocNode", "");
    find(&add_free, "cuGraphAddMemFreeNode", "");
    find(&open_other, "cuIpcOpenMemHandle", "_v2");
    find(&close_other, "cuIpcCloseMemHandle", "");
    check(add_alloc(&node, NULL, NULL, 0, &memory) == 0, "cuGraphAddMemAllocNode");
    expect("device_alloc", "cuGraphAddMemAllocNode", 4 * MIB);
    check(add_free(&node, NULL, NULL, 0, memory.address) == 0, "cuGraphAddMemFreeNode");
    expect("device_free", "cuGraphAddMemFreeNode", 4 * MIB);
    check(open_other(&address, handle, 1) == 0 && close_other(address) == 0, "cuIpcOpenMemHandle");
    expect("device_alloc", "cuIpcOpenMemHandle_v2", 0);
    expect("device_free", "cuIpcCloseMemHandle", 0);
}

/* A child holds none of its parent's memory. */
static int fork_and_use(void) {
    int (*alloc)(uint64_t *, size_t) = NULL;
    int (*release)(uint64_t) = NULL;
    uint64_t address = 0;
    int status = 0;
    find(&alloc, "cuMemAlloc", "_v2");
    find(&release, "cuMemFree", "_v2");
    check(alloc(&address, 3 * MIB) == 0, "cuMemAlloc");
    pid_t child = fork();
    if (child == 0) {
        check(release(address) == 0 && alloc(&address, 5 * MIB) == 0, "in the child");
        exit(0);
    }
    check(waitpid(child, &status, 0) == child && status == 0, "the child");
    check(release(address) == 0, "cuMemFree");
    printf("%ld %ld\n", (long)getpid(), (long)child);
    return 0;
}

/* All memory of the device ends with a reset. */
static void use_resets(void) {
    static const char *const NAMES[] = {"cudaDeviceReset", "cudaThreadExit",
                                        "cuDevicePrimaryCtxReset_v2"};
    int (*alloc)(uint64_t *, size_t) = NULL;
    find(&alloc, "cuMemAlloc", "_v2");
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        int (*reset)(int) = NULL; /* a function without arguments ignores the device */
        uint64_t address = 0;
        find(&reset, NAMES[i], "");
        check(alloc(&address, (3 + i) * MIB) == 0, "cuMemAlloc");
        expect("device_alloc", "cuMemAlloc_v2", (3 + i) * MIB);
        check(reset(0) == 0, NAMES[i]);
        expect("device_free", NAMES[i], (3 + i) * MIB);
    }
}

int main(int argc, char **argv) {
    int (*retain)(void **, int) = NULL;
    int (*release)(int) = NULL;
    void *context = NULL;
    how = argc > 1 ? argv[1] : "dlsym";
    open_driver();
    if (strcmp(how, "forked") == 0) {
        return fork_and_use();
    }
    find(&get_info, "cuMemGetInfo", "_v2");
    find(&retain, "cuDevicePrimaryCtxRetain", "");
    find(&release, "cuDevicePrimaryCtxRelease", "_v2");
    check(retain(&context, 0) == 0 && retain(&context, 0) == 0 && release(0) == 0, "the context");
    size_t before = free_bytes();
    if (strcmp(how, "reset") == 0) {
        use_resets();
        printf("gone %zu\n", before - free_bytes());
        return 0;
    }
    use_addresses();
    use_streams();
    use_physical();
    use_host();
    use_objects();
    use_graphs_and_others();
    printf("gone %zu\n", before - free_bytes());
    return 0;
}
