/* left_exception.c - the exception that ended a Python program. Each process ended by an exception
 * left PID.error (programs/live/python/python_error.c), whether it used a GPU or not. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "programs/launch/left/left_friend.h"

enum { PATH_BYTES = TIDE_LAUNCH_PATH_BYTES + 300, TEXT_BYTES = 1024, BY_EXCEPTION = 1 };

/* torchrun's own exception says only that a rank failed. */
static const char OF_A_CHILD[] = "ChildFailedError";

static bool is_of_child(const char *text) {
    return strncmp(text, OF_A_CHILD, sizeof(OF_A_CHILD) - 1) == 0;
}

/* The text of a file, and when it was written. False: it is empty or missing. */
static bool read_file(const char *path, char ret_text[TEXT_BYTES], struct timespec *ret_time) {
    struct stat info;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return false;
    }
    size_t n = fread(ret_text, 1, TEXT_BYTES - 1, file);
    bool is_read = n > 0 && fstat(fileno(file), &info) == 0;
    ret_text[n] = '\0';
    (void)fclose(file); /* was only read */
    *ret_time = is_read ? info.st_mtim : (struct timespec){.tv_sec = 0};
    return is_read;
}

static bool is_before(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* The exception of a process other than the first: the earliest if ranks end each other, otherwise
 * the last. "" if there is none. */
static void find_other(const tide_launch *launch, DIR *folder, bool wants_first,
                       char ret_text[TEXT_BYTES]) {
    char path[PATH_BYTES];
    char text[TEXT_BYTES];
    struct timespec at;
    struct timespec best = {.tv_sec = 0};
    ret_text[0] = '\0';
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        int64_t pid = tide_left_pid_of(entry->d_name, ".error");
        snprintf(path, sizeof(path), "%s/%s", launch->folder, entry->d_name);
        if (pid < 0 || pid == launch->process || !read_file(path, text, &at) || is_of_child(text)) {
            continue;
        }
        if (ret_text[0] == '\0' || is_before(&at, &best) == wants_first) {
            memcpy(ret_text, text, TEXT_BYTES);
            best = at;
        }
    }
}

tide_status tide_left_read_exception(const tide_launch *launch, DIR *folder, tide_left_list *list) {
    char path[PATH_BYTES];
    char own[TEXT_BYTES] = "";
    char other[TEXT_BYTES] = "";
    struct timespec at;
    list->exception = "";
    if (launch->exit_status != BY_EXCEPTION) {
        return TIDE_OK;
    }
    snprintf(path, sizeof(path), "%s/%ld.error", launch->folder, launch->process);
    bool has_own = read_file(path, own, &at);
    if (!has_own || is_of_child(own)) {
        rewinddir(folder);
        find_other(launch, folder, has_own || list->failed_rank >= 0, other);
    }
    list->is_of_program = has_own && other[0] == '\0';
    list->exception = tide_arena_text(&list->arena, list->is_of_program ? own : other);
    return list->exception != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}
