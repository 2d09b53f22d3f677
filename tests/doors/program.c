/* program.c - goes to NVIDIA's libraries in FOLDER by every way, and prints which file answers:
 * program FOLDER. One line for each way: its name, a tab, the file. */
#define _GNU_SOURCE /* dlmopen, dlvsym, dladdr */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static const char *folder;

static const char *file_of(void *address) {
    Dl_info info;
    if (address == NULL) {
        return "none";
    }
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return "unknown";
    }
    const char *slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

static void print_file(const char *way, void *address) {
    printf("%s\t%s\n", way, file_of(address));
}

static void *open_in(const char *name, int flags) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return dlopen(path, flags);
}

static void *find(const char *file, const char *name) {
    void *library = open_in(file, RTLD_NOW);
    return library != NULL ? dlsym(library, name) : NULL;
}

/* dlerror is NULL after a success, and has a text after a failure. */
static void print_errors(void) {
    void *library = open_in("libcudart.so.13", RTLD_NOW);
    (void)dlerror();
    void *found = dlsym(library, "cudaMalloc");
    printf("error after success\t%s\n", found != NULL && dlerror() == NULL ? "no" : "yes");
    /* A name that only NVIDIA's library has. */
    (void)dlsym(library, "cudaMissing");
    found = dlsym(library, "cudnnGetVersion");
    printf("error after NVIDIA's own\t%s\n", found != NULL && dlerror() == NULL ? "no" : "yes");
    (void)dlsym(library, "cudaMissing");
    found = dlvsym(library, "cudnnGetVersion", "libcudart.so.13");
    printf("error after NVIDIA's own by version\t%s\n",
           found != NULL && dlerror() == NULL ? "no" : "yes");
    found = dlsym(library, "cudaMissing");
    printf("error after failure\t%s\n", found == NULL && dlerror() != NULL ? "yes" : "no");
    found = dlvsym(library, "cudaMissing", "libcudart.so.13");
    printf("error after failure by version\t%s\n",
           found == NULL && dlerror() != NULL ? "yes" : "no");
    found = open_in("libmissing.so", RTLD_NOW);
    printf("error of dlopen\t%s\n", found == NULL && dlerror() != NULL ? "yes" : "no");
    found = dlmopen(LM_ID_NEWLM, "/no/libmissing.so", RTLD_NOW);
    printf("error of dlmopen\t%s\n", found == NULL && dlerror() != NULL ? "yes" : "no");
}

typedef void *asker(const char *name);

/* What a library of the user finds: the function that it is linked with, and one that it opens. */
static void print_user_library(void *library, const char *prefix) {
    static const char *const NAMES[] = {"user_linked", "user_opened"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        char way[64];
        void *(*ask)(void) = NULL;
        void *found = library != NULL ? dlsym(library, NAMES[i]) : NULL;
        memcpy(&ask, &found, sizeof(found));
        (void)snprintf(way, sizeof(way), "%s%s", prefix, NAMES[i]);
        print_file(way, ask != NULL ? ask() : NULL);
    }
}

/* From the first of two libraries: what is next after it is NVIDIA's, or the second one's own. */
static void print_next(void *library) {
    static const char *const NAMES[] = {"cudaMalloc", "cudaDeviceReset", "where_is_this"};
    asker *next = NULL;
    asker *global = NULL;
    void *found = library != NULL ? dlsym(library, "user_next") : NULL;
    memcpy(&next, &found, sizeof(found));
    found = library != NULL ? dlsym(library, "user_default") : NULL;
    memcpy(&global, &found, sizeof(found));
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]) && next != NULL; i++) {
        char way[64];
        (void)snprintf(way, sizeof(way), "RTLD_NEXT %s", NAMES[i]);
        print_file(way, next(NAMES[i]));
    }
    /* The lookup before it has failed. */
    bool fails = next == NULL || next("cudaMalloc") == NULL || dlerror() != NULL;
    printf("error after RTLD_NEXT\t%s\n", fails ? "yes" : "no");
    print_file("RTLD_DEFAULT cudaMalloc", global != NULL ? global("cudaMalloc") : NULL);
}

/* Allocates by a handle, and prints by how much the card's free memory shrinks. */
static void print_allocation(void) {
    int (*allocate)(void **, size_t) = NULL;
    int (*ask)(size_t *, size_t *) = NULL;
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    void *memory = NULL;
    void *found = find("libcudart.so.13", "cudaMalloc");
    memcpy(&allocate, &found, sizeof(found));
    found = dlsym(RTLD_DEFAULT, "cudaMemGetInfo");
    memcpy(&ask, &found, sizeof(found));
    if (ask == NULL) {
        printf("allocated MiB\tno card\n");
        return;
    }
    int failed = ask(&before, &total) | allocate(&memory, (size_t)64 << 20) | ask(&after, &total);
    printf("allocated MiB\t%d\n", failed != 0 ? -1 : (int)((before - after) >> 20));
}

enum { N_CLOSINGS = 2000 };

static atomic_bool is_closing;
static atomic_int n_ends;

void doors_library_ends(void);

/* libclosed.so calls this at its end. */
void doors_library_ends(void) {
    atomic_fetch_add(&n_ends, 1);
}

static void *close_often(void *path) {
    for (int i = 0; i < N_CLOSINGS; i++) {
        void *library = dlopen(path, RTLD_NOW);
        if (library != NULL) {
            (void)dlclose(library);
        }
    }
    atomic_store(&is_closing, false);
    return NULL;
}

/* RTLD_NEXT looks through all libraries while another thread closes one. It holds none of them:
 * each close is the last one. */
static void print_closing(void) {
    char path[PATH_BYTES];
    pthread_t closer;
    asker *next = NULL;
    void *library = open_in("libuser.so", RTLD_NOW);
    void *found = library != NULL ? dlsym(library, "user_next") : NULL;
    memcpy(&next, &found, sizeof(found));
    (void)snprintf(path, sizeof(path), "%s/libclosed.so", folder);
    atomic_store(&is_closing, true);
    if (next == NULL || pthread_create(&closer, NULL, close_often, path) != 0) {
        printf("libraries held by RTLD_NEXT\tfailed\n");
        return;
    }
    while (atomic_load(&is_closing)) {
        (void)next("cudaMemset");
    }
    (void)pthread_join(closer, NULL);
    printf("libraries held by RTLD_NEXT\t%d\n", N_CLOSINGS - atomic_load(&n_ends));
}

int main(int n_arguments, char **arguments) {
    static const struct {
        const char *file, *name;
    } WAYS[] = {
        {"libcudart.so.13", "cudaMalloc"},
        {"libcudart.so.13", "cudaNoSuchFunction"},
        {"libcudart-1a2b3c4d.so.12", "cudaMalloc"},
        {"libcublas.so.13", "cublasCreate_v2"},
        {"libcublas.so.13", "cublasGetVersion_v2"},
        {"libnccl.so.2", "ncclCommInitRank"},
        {"libcudnn.so.9", "cudnnCreate"},
        {"libcudnn_graph.so.9", "cudnnCreate"},
        {"libcudnn.so.9", "cudnnGetVersion"},
        {"libcusparse.so.12", "cusparseSpGEMM_copy"},
        {"libcuda.so.1", "cuInit"},
        {"libcuda.so.1", "cuMemAlloc_v2"},
        {"libnvidia-ml.so.1", "nvmlInit_v2"},
        {"libnvrtc.so.13", "nvrtcVersion"},
        {"libmine.so", "cudaMalloc"},
    };
    folder = n_arguments > 1 ? arguments[1] : ".";
    for (size_t i = 0; i < sizeof(WAYS) / sizeof(WAYS[0]); i++) {
        char way[128];
        (void)snprintf(way, sizeof(way), "%s %s", WAYS[i].file, WAYS[i].name);
        print_file(way, find(WAYS[i].file, WAYS[i].name));
    }
    void *deep = open_in("libcudart.so.13", RTLD_NOW | RTLD_DEEPBIND);
    print_file("RTLD_DEEPBIND", deep != NULL ? dlsym(deep, "cudaMalloc") : NULL);
    print_file("dlvsym", dlvsym(deep, "cudaMalloc", "libcudart.so.13"));
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/libcudart.so.13", folder);
    void *other = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    print_file("dlmopen", other != NULL ? dlsym(other, "cudaMalloc") : NULL);
    void *base = dlmopen(LM_ID_BASE, path, RTLD_NOW);
    print_file("dlmopen of the program's namespace",
               base != NULL ? dlsym(base, "cudaMalloc") : NULL);
    print_file("a driver that is not installed",
               find("nowhere/libcuda.so.580.82.07", "cuMemAlloc_v2"));
    /* The C library's own dlsym, found by its handle. */
    void *(*look_up)(void *, const char *) = NULL;
    void *found = dlsym(dlopen("libc.so.6", RTLD_NOW), "dlsym");
    memcpy(&look_up, &found, sizeof(found));
    print_file("dlsym of libc.so.6", look_up(deep, "cudaMalloc"));
    print_user_library(open_in("libuser.so", RTLD_NOW), "");
    print_user_library(open_in("libuserdeep.so", RTLD_NOW | RTLD_DEEPBIND), "RTLD_DEEPBIND ");
    (void)snprintf(path, sizeof(path), "%s/libuserapart.so", folder);
    print_user_library(dlmopen(LM_ID_NEWLM, path, RTLD_NOW), "dlmopen ");
    print_next(open_in("libuser.so", RTLD_NOW));
    int (*probe)(void) = NULL;
    found = find("libcudnn.so.9", "cudnnProbe");
    memcpy(&probe, &found, sizeof(found));
    printf("cuDNN's own parts\t%s\n", probe != NULL && probe() != 0 ? "found" : "missing");
    print_errors();
    print_allocation();
    print_closing();
    return 0;
}
