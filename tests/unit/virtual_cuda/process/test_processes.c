/* test_processes.c - the account that the processes of a run share, and the files that they leave.
 *
 * This process makes no context. It forks the programs of a run, which allocate memory, and reads
 * the account through NVML and from the file.
 */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/wire/run_account.h"
#include "unit/virtual_cuda/cuda_names.h"
#include "unit/virtual_cuda/test_folder.h"
#include "programs/virtual_cuda/card/account_friend.h"
#include "programs/virtual_cuda/process/inexact.h"

#define MIB ((size_t)1 << 20)
enum { OK = 0, OUT_OF_MEMORY = 2, INITIALIZATION = 3, NO_DEVICE = 100, NVML_TOO_SMALL = 7 };

typedef struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
} nvml_process;

int nvmlDeviceGetComputeRunningProcesses_v3(const void *handle, unsigned *n, nvml_process *ret);
int nvmlDeviceGetUUID(const void *handle, char *ret_text, unsigned n_bytes);

static char folder[] = "/tmp/tidemark-test-XXXXXX";
static uint64_t context_bytes; /* the memory of a context on a card of this test */

static unsigned long long used(unsigned number) {
    void *handle = NULL;
    unsigned long long memory[3];
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(number, &handle), OK);
    assert_int_equal(nvmlDeviceGetMemoryInfo(handle, memory), OK);
    assert_true(memory[0] == memory[1] + memory[2]);
    return memory[2];
}

/* The account's file, read as another program does. */
static const tide_run_account *account(void) {
    static tide_run_account copy;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, TIDE_RUN_ACCOUNT_NAME);
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(read(file, &copy, sizeof(copy)), sizeof(copy));
    close(file);
    assert_true(copy.magic == TIDE_RUN_ACCOUNT_MAGIC);
    return &copy;
}

/* A program of the run: it does `work`, reports that, and lives until the test lets it continue. */
typedef struct program {
    pid_t pid;
    int said, go_on; /* ends of pipes */
} program;

static bool take(size_t n_bytes) {
    void *address = NULL;
    return cudaMalloc(&address, n_bytes) == OK;
}

static program start(bool (*work)(size_t), size_t argument) {
    int said[2];
    int go_on[2];
    assert_true(pipe(said) == 0 && pipe(go_on) == 0);
    program made = {.pid = fork()};
    assert_true(made.pid >= 0);
    if (made.pid == 0) {
        close(said[0]);
        close(go_on[1]);
        char answer = work(argument) ? 'y' : 'n';
        bool is_told = write(said[1], &answer, 1) == 1 && read(go_on[0], &answer, 1) >= 0;
        _exit(is_told ? 0 : 1);
    }
    close(said[1]);
    close(go_on[0]);
    made.said = said[0];
    made.go_on = go_on[1];
    char answer = 0;
    assert_int_equal(read(made.said, &answer, 1), 1);
    assert_int_equal(answer, 'y');
    return made;
}

static void end(program of) {
    int status = -1;
    assert_int_equal(write(of.go_on, "", 1), 1); /* later programs have this end as well */
    close(of.go_on);
    close(of.said);
    assert_int_equal(waitpid(of.pid, &status, 0), of.pid);
    assert_int_equal(status, 0);
}

static void all_processes_are_seen(void **state) {
    (void)state;
    nvml_process found[4];
    unsigned n = 4;
    void *handle = NULL;
    unsigned long long before = used(0);
    program first = start(take, 10 * MIB);
    program second = start(take, 20 * MIB);
    assert_int_equal(used(0) - before, 30 * MIB + 2 * context_bytes);
    assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &handle), OK);
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(handle, &n, found), OK);
    assert_int_equal(n, 2);
    assert_int_equal(found[0].pid, first.pid);
    assert_int_equal(found[0].used_bytes, 10 * MIB + context_bytes);
    assert_int_equal(found[1].pid, second.pid);
    assert_int_equal(found[1].used_bytes, 20 * MIB + context_bytes);
    n = 1;
    assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(handle, &n, found), NVML_TOO_SMALL);
    assert_int_equal(n, 2);
    end(first);
    assert_int_equal(used(0) - before, 20 * MIB + context_bytes);
    end(second);
    assert_int_equal(used(0), before);
    assert_int_equal(used(1), 0);
}

/* A program that was not forked from this process opens the account anew. */
static bool run_another(size_t wanted) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%zu", wanted);
        execl("/proc/self/exe", "test_processes", text, (char *)NULL);
        _exit(1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* That program: it allocates 20 MiB, and then the stated number of bytes must be in use. */
static int another(const char *wanted) {
    return take(20 * MIB) && used(0) == strtoull(wanted, NULL, 10) ? 0 : 1;
}

static void another_program_sees_it_too(void **state) {
    (void)state;
    program first = start(take, 10 * MIB);
    program second = start(run_another, (size_t)used(0) + 20 * MIB + context_bytes);
    end(second);
    end(first);
}

/* Its memory is free as soon as it is dead, even before it is waited for. */
static void what_a_killed_process_had_is_free(void **state) {
    (void)state;
    unsigned long long before = used(0);
    program of = start(take, 30 * MIB);
    assert_int_equal(used(0) - before, 30 * MIB + context_bytes);
    assert_int_equal(kill(of.pid, SIGKILL), 0);
    siginfo_t how;
    assert_int_equal(waitid(P_PID, (id_t)of.pid, &how, WEXITED | WNOWAIT), 0);
    assert_int_equal(used(0), before);
    assert_int_equal(waitpid(of.pid, NULL, 0), of.pid);
    close(of.go_on);
    close(of.said);
}

static bool all_but_contexts(size_t n_bytes) {
    size_t n_free = 0;
    size_t n_total = 0;
    return cudaMemGetInfo(&n_free, &n_total) == OK && take(n_free - n_bytes);
}

static bool is_refused(size_t n_bytes) {
    void *address = NULL;
    return cudaMalloc(&address, n_bytes) == OUT_OF_MEMORY;
}

static void what_one_has_others_do_not_get(void **state) {
    (void)state;
    program first = start(all_but_contexts, 8 * MIB + context_bytes);
    uint64_t n_refused = account()->devices[0].n_refused;
    program second = start(is_refused, 10 * MIB);
    assert_int_equal(account()->devices[0].n_refused, n_refused + 1);
    assert_int_equal(account()->devices[0].refused_bytes, 10 * MIB);
    program third = start(is_refused, 1); /* there is no room for a context */
    assert_int_equal(kill(first.pid, SIGKILL), 0);
    assert_int_equal(waitpid(first.pid, NULL, 0), first.pid);
    program fourth = start(take, 10 * MIB);
    end(second);
    end(third);
    end(fourth);
    close(first.go_on);
    close(first.said);
}

/* The peaks of two consecutive programs do not add up. Uses its own card. */
static bool take_on_second(size_t n_bytes) {
    return cudaSetDevice(1) == OK && take(n_bytes);
}

static void a_peak_is_of_those_that_live(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        end(start(take_on_second, 40 * MIB));
    }
    const tide_run_device *of = &account()->devices[1];
    uint64_t on_second = of->peak_context_bytes;
    assert_int_equal(of->peak_bytes, 40 * MIB + on_second);
    assert_int_equal(of->n_contexts, 3);
    assert_true(of->total_bytes > of->peak_bytes);
    program first = start(take_on_second, 40 * MIB);
    program second = start(take_on_second, 40 * MIB);
    assert_int_equal(account()->devices[1].peak_bytes, 80 * MIB + 2 * on_second);
    end(first);
    end(second);
}

/* A process with a context allocates much more after another one has ended. */
static bool grow_after_another(size_t n_bytes) {
    int go_on[2];
    char byte = 0;
    int status = -1;
    if (pipe(go_on) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(read(go_on[0], &byte, 1) == 1 && take_on_second(n_bytes) ? 0 : 1);
    }
    return take_on_second(2 * MIB) && write(go_on[1], "", 1) == 1 &&
           waitpid(pid, &status, 0) == pid && status == 0 && take(2 * n_bytes);
}

static void a_peak_forgets_who_has_ended(void **state) {
    (void)state;
    program of = start(grow_after_another, 4096 * MIB);
    const tide_run_device *second = &account()->devices[1];
    assert_int_equal(second->peak_bytes, 8194 * MIB + second->peak_context_bytes);
    assert_int_equal(second->peak_context_bytes, second->context_bytes);
    end(of);
}

/* The holder of the lock dies after writing its slot and before updating the device's sum. */
static bool die_with_the_lock(size_t n_bytes) {
    if (take(n_bytes)) {
        tide_run_account *all = tide_vc_account_lock();
        all->processes[tide_vc_account_slot()].used_bytes[0] += n_bytes;
        all->devices[0].used_bytes += 12345;
        (void)raise(SIGKILL);
    }
    return false;
}

static void a_holder_of_the_lock_may_die(void **state) {
    (void)state;
    unsigned long long before = used(0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(die_with_the_lock(10 * MIB));
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(used(0), before);
    program of = start(take, 10 * MIB);
    assert_int_equal(used(0) - before, 10 * MIB + context_bytes);
    end(of);
}

/* CUDA does not support a fork after a context was made; before that, the child is like any
 * other. */
static bool fork_too_late(size_t n_bytes) {
    void *address = NULL;
    int status = -1;
    if (!take(n_bytes)) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(cudaMalloc(&address, n_bytes) == INITIALIZATION ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 && take(n_bytes);
}

static void a_fork_with_a_context_is_refused(void **state) {
    (void)state;
    unsigned long long before = used(0);
    program of = start(fork_too_late, 10 * MIB);
    assert_int_equal(used(0) - before, 20 * MIB + context_bytes);
    end(of);
}

static void *allocate_and_free(void *data) {
    unsigned seed = *(unsigned *)data;
    void *blocks[8] = {NULL};
    for (size_t i = 0; i < 300; i++) {
        size_t k = (seed = seed * 1103515245u + 12345u) / 65536u % 8;
        if (blocks[k] == NULL) {
            if (cudaMalloc(&blocks[k], (seed / 7 % 40 + 1) * MIB / 4) != OK) {
                return NULL;
            }
        } else {
            if (cudaFree(blocks[k]) != OK) {
                return NULL;
            }
            blocks[k] = NULL;
        }
    }
    for (size_t k = 0; k < 8; k++) {
        if (blocks[k] != NULL && cudaFree(blocks[k]) != OK) {
            return NULL;
        }
    }
    return data;
}

static bool two_threads(size_t seed) {
    pthread_t threads[2];
    unsigned seeds[2] = {(unsigned)seed, (unsigned)seed + 77};
    bool is_good = true;
    for (size_t i = 0; i < 2; i++) {
        is_good = pthread_create(&threads[i], NULL, allocate_and_free, &seeds[i]) == 0 && is_good;
    }
    for (size_t i = 0; i < 2; i++) {
        void *result = NULL;
        is_good = pthread_join(threads[i], &result) == 0 && result == &seeds[i] && is_good;
    }
    return is_good;
}

/* Programs with threads allocate and free; others are killed in the middle. Only the memory of
 * contexts remains, and finally nothing. */
static void many_processes_leave_nothing(void **state) {
    (void)state;
    enum { N = 4 };
    program programs[N];
    unsigned long long before = used(0);
    pid_t killed[N];
    for (size_t i = 0; i < N; i++) {
        killed[i] = fork();
        if (killed[i] == 0) {
            for (unsigned seed = (unsigned)i;; seed++) {
                (void)allocate_and_free(&seed);
            }
        }
    }
    for (size_t i = 0; i < N; i++) {
        programs[i] = start(two_threads, i);
        assert_int_equal(kill(killed[i], SIGKILL), 0);
        assert_int_equal(waitpid(killed[i], NULL, 0), killed[i]);
    }
    assert_int_equal(used(0) - before, N * context_bytes);
    for (size_t i = 0; i < N; i++) {
        end(programs[i]);
    }
    assert_int_equal(used(0), before);
}

static bool sees_the_second_only(size_t wanted) {
    int n = -1;
    unsigned char properties[1032];
    char uuid[64] = "";
    void *handle = NULL;
    setenv("CUDA_VISIBLE_DEVICES", wanted == 1 ? "1,7,0" : "GPU-02,0", 1);
    return cudaGetDeviceCount(&n) == OK && n == (wanted == 1 ? 1 : 2) &&
           cudaGetDeviceProperties_v2(properties, 0) == OK && properties[256] == 2 &&
           nvmlDeviceGetHandleByIndex_v2(1, &handle) == OK &&
           nvmlDeviceGetUUID(handle, uuid, sizeof(uuid)) == OK && strncmp(uuid, "GPU-02", 6) == 0 &&
           take(10 * MIB);
}

static bool sees_none(size_t unused) {
    (void)unused;
    int n = -1;
    void *address = NULL;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    return cudaGetDeviceCount(&n) == NO_DEVICE && n == 0 && cudaSetDevice(0) != OK &&
           cudaMalloc(&address, 1) == NO_DEVICE;
}

/* The account uses the machine's device numbers, which differ from the process's. */
static void visible_devices_are_numbered_anew(void **state) {
    (void)state;
    for (size_t wanted = 1; wanted <= 2; wanted++) {
        program of = start(sees_the_second_only, wanted);
        assert_int_equal(used(0), 0);
        assert_true(used(1) >= 10 * MIB);
        end(of);
    }
    end(start(sees_none, 0));
}

static void read_lines(pid_t pid, char *ret_text, size_t n_room) {
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%ld.card", folder, (long)pid);
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    ssize_t n = read(file, ret_text, n_room - 1);
    assert_true(n >= 0);
    ret_text[n] = '\0';
    close(file);
}

static bool say_what_is_not_exact(size_t unused) {
    (void)unused;
    tide_vc_inexact("cuThis", "its size is not known");
    tide_vc_inexact("cuThis", "its size is not known");
    tide_vc_refused("cuThat", "it is not simulated");
    tide_vc_inexact_bytes("cuArea", "it would take", 700);
    tide_vc_inexact_bytes("cuArea", "it would take", 300);
    tide_vc_inexact_bytes("cuArea", "it would take", 7000000000);
    tide_vc_inexact_kind("cuKind", "one", 2);
    tide_vc_inexact_kind("cuKind", "another", 1);
    tide_vc_inexact_kind("cuKind", "one", 2);
    return true;
}

static void what_is_not_exact_is_a_line_each(void **state) {
    (void)state;
    char text[512];
    program of = start(say_what_is_not_exact, 0);
    read_lines(of.pid, text, sizeof(text));
    assert_string_equal(
        text, "inexact\tcuThis\tits size is not known\nrefused\tcuThat\tit is not simulated\n"
              "inexact\tcuArea\tit would take\t700\ninexact\tcuArea\tit would take\t7000000000\n"
              "inexact\tcuKind\tone\t2\ninexact\tcuKind\tanother\t1\n");
    end(of);
    (void)say_what_is_not_exact(0);
    program child = start(say_what_is_not_exact, 0);
    read_lines(child.pid, text, sizeof(text));
    assert_true(strncmp(text, "inexact\tcuThis\t", 15) == 0);
    end(child);
}

static int measure_context(void **state) {
    (void)state;
    unsigned long long before = used(0);
    program of = start(take, 2 * MIB);
    context_bytes = used(0) - before - 2 * MIB;
    end(of);
    return context_bytes > 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_processes_are_seen),
        cmocka_unit_test(another_program_sees_it_too),
        cmocka_unit_test(what_a_killed_process_had_is_free),
        cmocka_unit_test(what_one_has_others_do_not_get),
        cmocka_unit_test(a_peak_is_of_those_that_live),
        cmocka_unit_test(a_peak_forgets_who_has_ended),
        cmocka_unit_test(a_holder_of_the_lock_may_die),
        cmocka_unit_test(a_fork_with_a_context_is_refused),
        cmocka_unit_test(many_processes_leave_nothing),
        cmocka_unit_test(visible_devices_are_numbered_anew),
        cmocka_unit_test(what_is_not_exact_is_a_line_each),
    };
    if (argc == 2) {
        return another(argv[1]);
    }
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    setenv("TIDEMARK_RUN_FOLDER", folder, 1);
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80+a100-40", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    int n_failed = cmocka_run_group_tests(tests, measure_context, NULL);
    return remove_folder(folder) == 0 ? n_failed : 1;
}
