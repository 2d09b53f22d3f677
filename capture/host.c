#define _GNU_SOURCE /* sched_getaffinity */
#include "capture/host.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/files/text_file.h"

void tide_host_get_info(tide_host_info *ret_info) {
    memset(ret_info, 0, sizeof(*ret_info));
    struct utsname system;
    if (uname(&system) == 0) {
        char release[TIDE_HOST_TEXT] = "";
        (void)tide_text_file_value("/etc/os-release", "PRETTY_NAME=", '=', release,
                                   sizeof(release));
        (void)snprintf(ret_info->name, sizeof(ret_info->name), "%s", system.nodename);
        (void)snprintf(ret_info->os, sizeof(ret_info->os), "%.120s%s%.60s %.60s", release,
                       release[0] == '\0' ? "" : ", ", system.sysname, system.release);
    }
    (void)tide_text_file_value("/proc/cpuinfo", "model name", ':', ret_info->cpu,
                               sizeof(ret_info->cpu));
    cpu_set_t allowed;
    ret_info->n_cpus = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                           ? (int64_t)CPU_COUNT(&allowed)
                           : (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
    long n_pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    ret_info->total_bytes = n_pages > 0 && page_bytes > 0 ? (int64_t)n_pages * page_bytes : -1;
}
