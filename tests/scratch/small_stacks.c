/* small_stacks.c - threads with little stack, under all of our preloaded objects: they work as they
 * do without us. Run by run.py: small_stacks FOLDER. Each line printed is a failure.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KIB = 1024, N_THREADS = 8 };

static int (*init)(unsigned);
static int (*retain)(void **, int);
static int (*set_current)(void *);
static int (*alloc)(uint64_t *, size_t);
static int (*release)(uint64_t);

static void find(void *to, const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(to, &found, sizeof(found));
}

static void *use_card(void *unused) {
    void *context = NULL;
    uint64_t address = 0;
    (void)unused;
    /* The first call of the process, which opens the log, is made with 64 KiB. */
    if (init(0) != 0 || retain(&context, 0) != 0 || set_current(context) != 0 ||
        alloc(&address, 4 * (size_t)KIB) != 0 || release(address) != 0) {
        return "the card failed";
    }
    return NULL;
}

static void *use_files(void *number) {
    char name[64];
    char other[64];
    (void)snprintf(name, sizeof(name), "small_%zu", *(size_t *)number);
    (void)snprintf(other, sizeof(other), "smaller_%zu", *(size_t *)number);
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0 || rename(name, other) != 0 ||
        access(other, R_OK) != 0 || unlink(other) != 0 || mkdir(name, 0755) != 0 ||
        rmdir(name) != 0) {
        return "files failed";
    }
    return NULL;
}

static void *use_folders(void *unused) {
    (void)unused;
    return rename("tree", "felled") != 0 || access("felled/deep/leaf", R_OK) != 0 ||
                   mkdir("felled/a", 0755) != 0 || mkdir("felled/a/b", 0755) != 0 ||
                   mkdir("felled/a/b/c", 0755) != 0 || mkdir("felled/a/b/c/d", 0755) != 0 ||
                   rename("data", "felled/a/b/c/d/data") != 0 || rename("felled", "tree") != 0 ||
                   access("tree/a/b/c/d/data/sub/two", R_OK) != 0
               ? "folders failed"
               : NULL;
}

static int run(void *(*use)(void *), size_t n_bytes, size_t n) {
    pthread_t threads[N_THREADS];
    size_t numbers[N_THREADS];
    pthread_attr_t attributes;
    int n_failures = 0;
    (void)pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, n_bytes) != 0) {
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], &attributes, use, &numbers[i]) != 0) {
            printf("no thread with %zu bytes\n", n_bytes);
            return 1;
        }
    }
    for (size_t i = 0; i < n; i++) {
        void *failure = NULL;
        (void)pthread_join(threads[i], &failure);
        if (failure != NULL) {
            printf("%s with %zu bytes\n", (const char *)failure, n_bytes);
            n_failures++;
        }
    }
    return n_failures;
}

int main(int argc, char **argv) {
    if (argc < 2 || chdir(argv[1]) != 0) {
        return 2;
    }
    find(&init, "cuInit");
    find(&retain, "cuDevicePrimaryCtxRetain");
    find(&set_current, "cuCtxSetCurrent");
    find(&alloc, "cuMemAlloc_v2");
    find(&release, "cuMemFree_v2");
    int n_failures = 0;
    for (size_t n_kib = 64; n_kib >= 16; n_kib /= 2) {
        n_failures += run(use_card, n_kib * KIB, N_THREADS);
    }
    n_failures += run(use_files, 64 * (size_t)KIB, N_THREADS);
    n_failures += run(use_folders, 64 * (size_t)KIB, 1);
    return n_failures == 0 ? 0 : 1;
}
