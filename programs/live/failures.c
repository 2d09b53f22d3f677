/* failures.c - notifies the run of a failed request for memory, before the program sees the
 * failure.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/setting.h"
#include "programs/live/state_friend.h"

enum { PATH_BYTES = 4096 };

void tide_live_tell_failure(void) {
    char path[PATH_BYTES];
    const char *folder = tide_setting("TIDEMARK_RUN_FOLDER");
    int saved = errno;
    if (folder != NULL &&
        snprintf(path, sizeof(path), "%s/%ld.oom", folder, (long)getpid()) < (int)sizeof(path)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (fd >= 0) {
            (void)!write(fd, "\n", 1); /* its row is in the log in any case */
            (void)close(fd);
        }
    }
    errno = saved;
}
