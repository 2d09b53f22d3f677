#include "programs/virtual_cuda/process/host_failure.h"

#include <stdio.h>
#include <sys/resource.h>

#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/api/status.h"

enum { TEXT_BYTES = 512 };

/* Appends the limit of the process that is the likeliest reason, and what to do about it. */
static void say_limit(char *ret_text, size_t n_bytes) {
    static const struct {
        int resource;
        const char *name, *option;
    } LIMITS[] = {{RLIMIT_AS, "address space", "-v"}, {RLIMIT_DATA, "data", "-d"}};
    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)LIMITS[i].resource, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY) {
            (void)snprintf(ret_text, n_bytes,
                           "a process may have %.2f GiB of %s (ulimit %s), so raise it with "
                           "ulimit %s unlimited",
                           (double)limit.rlim_cur / (double)(1U << 30), LIMITS[i].name,
                           LIMITS[i].option, LIMITS[i].option);
            return;
        }
    }
    (void)snprintf(ret_text, n_bytes,
                   "free memory of the host, or raise vm.max_map_count and vm.overcommit_memory");
}

int tide_vc_host_failed(const char *what) {
    char limit[TEXT_BYTES / 2];
    char text[TEXT_BYTES];
    say_limit(limit, sizeof(limit));
    (void)snprintf(text, sizeof(text), "there was no memory for it; %s", limit);
    tide_vc_host_refused(what, text);
    return TIDE_VC_OPERATING_SYSTEM;
}

int tide_vc_addresses_failed(void) {
    tide_vc_host_refused("addresses of device memory",
                         "the virtual card has 5.25 PiB of them for each process, and no more are "
                         "left in one piece; ask for less, or limit the cards with --memory-limit");
    return TIDE_VC_OPERATING_SYSTEM;
}
