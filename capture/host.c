#define _GNU_SOURCE /* sched_getaffinity */
#include "capture/host.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The rest of the first line of the file that begins with `key`, after the first `separator`,
 * without quotes and surrounding blanks; "" when there is none. */
static void find_value(const char *path, const char *key, char separator,
                       char ret_value[TIDE_HOST_TEXT]) {
    ret_value[0] = '\0';
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    char line[1024];
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *at = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || at == NULL) {
            continue;
        }
        at += 1 + strspn(at + 1, " \t\"");
        size_t n_bytes = strcspn(at, "\"\n");
        n_bytes = n_bytes < TIDE_HOST_TEXT ? n_bytes : TIDE_HOST_TEXT - 1;
        memcpy(ret_value, at, n_bytes);
        ret_value[n_bytes] = '\0';
        break;
    }
    (void)fclose(file); /* opened for reading: nothing to lose */
}

void tide_host_get_info(tide_host_info *ret_info) {
    memset(ret_info, 0, sizeof(*ret_info));
    struct utsname system;
    if (uname(&system) == 0) {
        char release[TIDE_HOST_TEXT];
        find_value("/etc/os-release", "PRETTY_NAME=", '=', release);
        (void)snprintf(ret_info->name, sizeof(ret_info->name), "%s", system.nodename);
        (void)snprintf(ret_info->os, sizeof(ret_info->os), "%.120s%s%.60s %.60s", release,
                       release[0] == '\0' ? "" : ", ", system.sysname, system.release);
    }
    find_value("/proc/cpuinfo", "model name", ':', ret_info->cpu);
    cpu_set_t allowed;
    ret_info->n_cpus = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                           ? (int64_t)CPU_COUNT(&allowed)
                           : (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
    long n_pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    ret_info->total_bytes = n_pages > 0 && page_bytes > 0 ? (int64_t)n_pages * page_bytes : -1;
}
