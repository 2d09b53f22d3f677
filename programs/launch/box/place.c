#define _DEFAULT_SOURCE /* gethostname */
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "programs/launch/box/box.h"
#include "programs/launch/box/box_internal.h"

enum { HOST_BYTES = 256 };

#define SECOND_US INT64_C(1000000)
#define APART_US (60 * SECOND_US) /* between the clocks of a file system and of this machine */

static size_t skip_digits(const char *text) {
    return strspn(text, "0123456789");
}

/* Whether the name is HOST-PID.ring or HOST-rankR-PID.ring with this machine's name as the library
 * writes it (programs/live/box/black_box.c). Names with a number after the PID may be those of
 * another machine, as "node-7-4711" is for "node". */
static bool is_of_this_machine(const char *name) {
    char host[HOST_BYTES] = "";
    (void)gethostname(host, sizeof(host) - 1);
    size_t n = strcspn(host, ".");
    for (size_t i = 0; i < n; i++) {
        host[i] = host[i] == '/' || host[i] == '%' ? '_' : host[i];
    }
    if (n == 0 || strncmp(name, host, n) != 0 || name[n] != '-') {
        return false;
    }
    name += n + 1;
    if (strncmp(name, "rank", strlen("rank")) == 0) {
        name += strlen("rank");
        size_t n_rank = skip_digits(name);
        if (n_rank == 0 || name[n_rank] != '-') {
            return false;
        }
        name += n_rank + 1;
    }
    size_t n_process = skip_digits(name);
    return n_process > 0 && strcmp(name + n_process, TIDE_BOX_RING) == 0;
}

static int64_t started_unix_us(void) {
    struct timespec since = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &since);
    return tide_clock_unix_us() - since.tv_sec * SECOND_US;
}

tide_box_place tide_box_find(const char *ring) {
    struct stat info;
    const char *slash = strrchr(ring, '/');
    if (lstat(ring, &info) != 0 || !S_ISLNK(info.st_mode) || access(ring, F_OK) == 0) {
        return TIDE_BOX_HERE;
    }
    if (!is_of_this_machine(slash != NULL ? slash + 1 : ring)) {
        return TIDE_BOX_ELSEWHERE;
    }
    bool is_older = info.st_mtim.tv_sec * SECOND_US + APART_US < started_unix_us();
    return is_older ? TIDE_BOX_LOST : TIDE_BOX_ABSENT;
}
