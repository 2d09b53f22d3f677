#define _DEFAULT_SOURCE
#include "cli/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* The text behind "KEY ...: " on the first line of `path` that starts with key; "" when there is
 * none. */
static void read_value(const char *path, const char *key, char *text, size_t n_text) {
    text[0] = '\0';
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    char line[512];
    while (fgets(line, sizeof(line), file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || colon == NULL) {
            continue;
        }
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(text, n_text, "%s", colon);
        break;
    }
    (void)!fclose(file); /* was only read */
}

static int64_t read_kib(const char *key) {
    char text[64];
    read_value("/proc/meminfo", key, text, sizeof(text));
    char *end = NULL;
    long long kib = strtoll(text, &end, 10);
    return end == text || kib < 0 || kib > INT64_MAX / 1024 ? -1 : (int64_t)kib * 1024;
}

void tide_host_describe(tide_host *ret_host) {
    tide_host host = {.n_cpus = -1};
    struct utsname name;
    if (uname(&name) >= 0) {
        snprintf(host.name, sizeof(host.name), "%.127s", name.nodename);
        snprintf(host.os, sizeof(host.os), "%.50s %.50s %.50s", name.sysname, name.release,
                 name.machine);
    }
    read_value("/proc/cpuinfo", "model name", host.cpu, sizeof(host.cpu));
    host.n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    host.total_bytes = read_kib("MemTotal");
    host.available_bytes = read_kib("MemAvailable");
    *ret_host = host;
}

static tide_status cannot_write(const char *path, int reason, tide_error *error) {
    return tide_fail(error, TIDE_IO, "%s cannot be written: %s: choose another place with -o", path,
                     strerror(reason));
}

tide_status tide_host_check_writable(const char *path, tide_error *error) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return cannot_write(path, EISDIR, error);
    }
    char trial[TIDE_PATH_BYTES];
    int n = snprintf(trial, sizeof(trial), "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(trial)) {
        return cannot_write(path, ENAMETOOLONG, error);
    }
    int file = mkstemp(trial);
    if (file < 0) {
        return cannot_write(path, errno, error);
    }
    close(file);
    unlink(trial);
    return TIDE_OK;
}

tide_status tide_host_open_browser(const char *path, tide_error *error) {
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        return tide_fail(
            error, TIDE_UNSUPPORTED,
            "no browser could be opened (xdg-open, package xdg-utils): open %s yourself", path);
    }
    return TIDE_OK;
}
