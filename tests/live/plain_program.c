/* A program without PyTorch: its CUDA allocations are known, so its snapshot can be checked. With
 * an argument it ends with that status after a request that fails. With "plan" or "solve" only a
 * library allocates memory. With "reset" and the name of a function that resets the card it only
 * fills the card several times. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, REGISTERED_BYTES = 10000 };

/* CUmemAllocationProp: pinned memory of device 0. */
typedef struct physical_properties {
    int type, handles, place_kind, place;
    void *meta;
    unsigned char flags[8];
} physical_properties;

static void *find(const char *name) {
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL) {
        fprintf(stderr, "%s: not found\n", name);
        exit(3);
    }
    return function;
}

#define CALL(name, parameters, ...)                                                                \
    do {                                                                                           \
        int(*function) parameters = NULL;                                                          \
        void *found = find(#name);                                                                 \
        memcpy(&function, &found, sizeof(found));                                                  \
        int status = function(__VA_ARGS__);                                                        \
        if (status != 0) {                                                                         \
            printf("%s: %d\n", #name, status);                                                     \
        }                                                                                          \
    } while (0)

static uint64_t allocate(size_t n_bytes) {
    uint64_t address = 0;
    CALL(cudaMalloc, (uint64_t *, size_t), &address, n_bytes);
    return address;
}

static void take_physical(void) {
    const physical_properties properties = {.type = 1, .place_kind = 1};
    uint64_t handle = 0;
    CALL(cuMemCreate, (uint64_t *, size_t, const physical_properties *, unsigned long long),
         &handle, 4 * MIB, &properties, 0ULL);
    CALL(cuMemRelease, (uint64_t), handle);
}

/* A reset frees all memory of the card. Each request is larger than the one before, so it gets
 * another address. */
static void fill_and_reset(const char *name) {
    int (*reset)(int) = NULL; /* a function without arguments ignores the device */
    void *found = find(name);
    memcpy(&reset, &found, sizeof(reset));
    for (size_t i = 0; i < 3; i++) {
        (void)allocate((30 + 4 * i) << 30);
        printf("%d\n", reset(0));
    }
}

/* Work areas that libraries allocate. */
static void plan(void) {
    enum { POINTS = 1 << 24, COMPLEX = 0x29, BATCH = 8 };
    int number = 0;
    size_t n_bytes = 0;
    CALL(cufftCreate, (int *), &number);
    CALL(cufftMakePlan1d, (int, int, int, int, size_t *), number, POINTS, COMPLEX, BATCH, &n_bytes);
}

static void solve(void) {
    uint64_t address = 0;
    CALL(cublasAlloc, (int, int, uint64_t *), 2 * MIB, 1024, &address);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "plan") == 0) {
        plan();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "solve") == 0) {
        solve();
        return 0;
    }
    if (argc > 2 && strcmp(argv[1], "reset") == 0) {
        fill_and_reset(argv[2]);
        return 0;
    }
    void *pinned = NULL;
    char *registered = malloc(REGISTERED_BYTES);
    if (registered == NULL) {
        return 3;
    }
    uint64_t first = allocate(3 * MIB);
    uint64_t second = allocate(1000);
    CALL(cudaMallocHost, (void **, size_t), &pinned, 5 * MIB);
    CALL(cudaHostRegister, (void *, size_t, unsigned), registered, REGISTERED_BYTES, 0U);
    CALL(cudaFree, (uint64_t), first);
    take_physical();
    (void)allocate((size_t)1 << 40);
    CALL(cudaHostUnregister, (void *), registered);
    CALL(cudaFreeHost, (void *), pinned);
    if (argc > 1) {
        return atoi(argv[1]);
    }
    CALL(cudaFree, (uint64_t), second);
    free(registered);
    return 0;
}
