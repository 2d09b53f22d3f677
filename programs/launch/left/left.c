#define _POSIX_C_SOURCE 200809L
#include "programs/launch/left/left.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "common/files/text_file.h"
#include "programs/launch/left/left_friend.h"

enum { MAX_FILE_BYTES = 1 << 30 };

int64_t tide_left_pid_of(const char *name, const char *ending) {
    char *end = NULL;
    long pid = strtol(name, &end, 10);
    return end != name && strcmp(end, ending) == 0 ? pid : -1;
}

/* The path of a file that the process may have left; NULL if it does not exist. */
static tide_status find_file(const tide_launch *launch, int64_t pid, const char *ending,
                             tide_left_list *list, const char **ret_path) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    *ret_path = NULL;
    snprintf(path, sizeof(path), "%s/%lld.%s", launch->folder, (long long)pid, ending);
    if (access(path, R_OK) == 0) {
        *ret_path = tide_arena_text(&list->arena, path);
        return *ret_path != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    }
    return TIDE_OK;
}

static tide_status read_process(const tide_launch *launch, int64_t pid, tide_left_list *list,
                                tide_error *error) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    char *text = NULL;
    tide_left *process = &list->processes[list->n_processes];
    snprintf(path, sizeof(path), "%s/%lld.json", launch->folder, (long long)pid);
    TIDE_TRY(tide_text_file_read(path, MAX_FILE_BYTES, &text, NULL, error));
    *process = (tide_left){.pid = pid};
    tide_status status = tide_left_parse(text, list, process, error);
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, text);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "what process %lld left", (long long)pid);
        return status;
    }
    TIDE_TRY(find_file(launch, pid, "pickle", list, &process->snapshot_path));
    if (process->is_live) {
        TIDE_TRY(find_file(launch, pid, "log", list, &process->log_path));
    }
    TIDE_TRY(find_file(launch, pid, "calls", list, &process->calls_path));
    TIDE_TRY(find_file(launch, pid, "launches", list, &process->launches_path));
    list->n_processes++;
    return TIDE_OK;
}

/* Whether a program without PyTorch failed after the card refused its last request: nothing else
 * reports the reason. A program that continued with less memory failed for another reason. */
static bool failed_for_memory(const tide_launch *launch, const tide_left *process) {
    bool ends_refused = false;
    for (size_t i = 0; i < process->n_devices; i++) {
        ends_refused = ends_refused || process->peaks[i].ends_refused;
    }
    bool has_failed = launch->exit_status != 0 || launch->signal_number != 0;
    return has_failed && ends_refused && process->python[0] == '\0';
}

/* A killed process left only its log. Ignores a log without events, such as that of a shell between
 * the command and the program. */
static tide_status read_lone_log(const tide_launch *launch, int64_t pid, tide_left_list *list,
                                 tide_error *error) {
    const char *path = NULL;
    const char *json = NULL;
    TIDE_TRY(find_file(launch, pid, "json", list, &json));
    TIDE_TRY(find_file(launch, pid, "log", list, &path));
    if (json != NULL || path == NULL) {
        return TIDE_OK;
    }
    tide_status status =
        tide_left_read_log(path, pid, list, &list->processes[list->n_processes], error);
    if (status == TIDE_OK) {
        tide_left *process = &list->processes[list->n_processes++];
        process->is_out_of_memory = failed_for_memory(launch, process);
        TIDE_TRY(find_file(launch, pid, "launches", list, &process->launches_path));
    }
    return status == TIDE_FORMAT ? TIDE_OK : status;
}

/* Of lines that differ only in their bound, the largest counts. */
static bool is_known(tide_left_list *list, const tide_left_inexact *row) {
    for (size_t i = 0; i < list->n_inexact; i++) {
        tide_left_inexact *other = &list->inexact[i];
        if (other->pid == row->pid && strcmp(other->call, row->call) == 0 &&
            strcmp(other->what, row->what) == 0) {
            if (row->bound_bytes > other->bound_bytes) {
                other->bound_bytes = row->bound_bytes;
                other->place = row->place;
            }
            return true;
        }
    }
    return false;
}

static tide_status add_linked(tide_left_list *list, const char *version, const char *path) {
    for (size_t i = 0; i < list->n_linked; i++) {
        if (strcmp(list->linked[i].path, path) == 0) {
            return TIDE_OK;
        }
    }
    if (list->n_linked < TIDE_LEFT_MAX_LINKED) {
        tide_left_linked row = {.version = tide_arena_text(&list->arena, version),
                                .path = tide_arena_text(&list->arena, path)};
        if (row.version == NULL || row.path == NULL) {
            return TIDE_NO_MEMORY;
        }
        list->linked[list->n_linked++] = row;
    }
    return TIDE_OK;
}

/* A line is KIND<TAB>CALL<TAB>TEXT, and perhaps <TAB>BYTES<TAB>PLACE; without BYTES the bound is
 * -1. */
static tide_status add_line(tide_left_list *list, size_t *capacity, int64_t pid, char *line) {
    char *rest = NULL;
    const char *kind = strtok_r(line, "\t", &rest);
    const char *call = strtok_r(NULL, "\t", &rest);
    const char *what = strtok_r(NULL, "\t", &rest);
    const char *bound = strtok_r(NULL, "\t", &rest);
    const char *place = strtok_r(NULL, "\t", &rest);
    if (kind == NULL || call == NULL || what == NULL) {
        return TIDE_OK; /* a process that was killed may have left half a line */
    }
    if (strcmp(kind, "linked") == 0) {
        return add_linked(list, call, what);
    }
    tide_left_inexact row = {.pid = pid,
                             .call = tide_arena_text(&list->arena, call),
                             .what = tide_arena_text(&list->arena, what),
                             .place = tide_arena_text(&list->arena, place != NULL ? place : ""),
                             .bound_bytes = bound != NULL ? strtoll(bound, NULL, 10) : -1,
                             .is_refused = strcmp(kind, "inexact") != 0,
                             .is_host = strcmp(kind, "host") == 0};
    tide_left_inexact *rows = tide_hostmem_grow(tide_hostmem_default(), list->inexact, capacity,
                                                list->n_inexact + 1, sizeof(*rows));
    if (rows == NULL || row.call == NULL || row.what == NULL || row.place == NULL) {
        list->inexact = rows != NULL ? rows : list->inexact;
        return TIDE_NO_MEMORY;
    }
    list->inexact = rows;
    if (!is_known(list, &row)) {
        list->inexact[list->n_inexact++] = row;
    }
    return TIDE_OK;
}

tide_status tide_left_read_lines(const tide_launch *launch, int64_t pid, const char *ending,
                                 size_t most_bytes, tide_left_add_line *add, size_t *capacity,
                                 tide_left_list *list, tide_error *error) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    char *text = NULL;
    char *rest = NULL;
    tide_status status = TIDE_OK;
    snprintf(path, sizeof(path), "%s/%lld.%s", launch->folder, (long long)pid, ending);
    TIDE_TRY(tide_text_file_read(path, most_bytes, &text, NULL, error));
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && status == TIDE_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        status = add(list, capacity, pid, line);
    }
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, text);
    return status;
}

bool tide_left_parse_numbers(const char *text, size_t n, int64_t *ret) {
    for (size_t i = 0; i < n; i++) {
        char *end = NULL;
        ret[i] = strtoll(text, &end, 10);
        bool is_last = i + 1 == n;
        if (end == text || (!is_last && *end != '\t')) {
            return false;
        }
        ret[i] = ret[i] < -1 ? -1 : ret[i]; /* such as a negative number that the program read */
        text = end + !is_last;
    }
    return true;
}

static int compare(const void *a, const void *b) {
    const tide_left *left = a;
    const tide_left *right = b;
    if (left->rank != right->rank) {
        return left->rank < right->rank ? -1 : 1;
    }
    return (left->pid > right->pid) - (left->pid < right->pid);
}

void tide_left_sort(tide_left_list *list) {
    if (list->n_processes > 1) {
        qsort(list->processes, list->n_processes, sizeof(*list->processes), compare);
    }
}

/* A process that never allocated, such as a worker that compiles for another, is left out, unless
 * it is the only one. */
static bool is_empty(const tide_left *process) {
    int64_t n = 0;
    for (size_t i = 0; i < process->n_devices; i++) {
        n += process->peaks[i].reserved_bytes + process->peaks[i].n_rows;
    }
    return n == 0 && process->calls_path == NULL && process->exception[0] == '\0';
}

static void drop_empty(tide_left_list *list) {
    size_t n = 0;
    for (size_t i = 0; i < list->n_processes; i++) {
        if (!is_empty(&list->processes[i])) {
            list->processes[n++] = list->processes[i];
        }
    }
    list->n_processes = n > 0 || list->n_processes == 0 ? n : 1;
}

static tide_status read_folder(const tide_launch *launch, DIR *folder, tide_left_list *list,
                               tide_error *error) {
    size_t capacity = 0;
    size_t assumed_capacity = 0;
    size_t pool_capacity = 0;
    size_t xla_capacity = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        int64_t pid = tide_left_pid_of(entry->d_name, ".json");
        if (pid >= 0 && list->n_processes < TIDE_LEFT_MAX_PROCESSES) {
            TIDE_TRY(read_process(launch, pid, list, error));
        }
        pid = tide_left_pid_of(entry->d_name, ".log");
        if (pid >= 0 && list->n_processes < TIDE_LEFT_MAX_PROCESSES) {
            TIDE_TRY(read_lone_log(launch, pid, list, error));
        }
        pid = tide_left_pid_of(entry->d_name, ".card");
        if (pid >= 0) {
            TIDE_TRY(tide_left_read_lines(launch, pid, "card", MAX_FILE_BYTES, add_line, &capacity,
                                          list, error));
        }
        pid = tide_left_pid_of(entry->d_name, ".assumed");
        if (pid >= 0) {
            TIDE_TRY(tide_left_read_assumed(launch, pid, &assumed_capacity, list, error));
        }
        pid = tide_left_pid_of(entry->d_name, ".pool");
        if (pid >= 0) {
            TIDE_TRY(tide_left_read_pools(launch, pid, &pool_capacity, list, error));
        }
        pid = tide_left_pid_of(entry->d_name, ".xla");
        if (pid >= 0) {
            TIDE_TRY(tide_left_read_xla(launch, pid, &xla_capacity, list, error));
        }
    }
    drop_empty(list);
    tide_left_sort(list);
    tide_left_sort_assumed(list);
    tide_left_sort_pools(list);
    return TIDE_OK;
}

tide_status tide_left_begin(const tide_launch *launch, tide_left_list *ret, DIR **ret_folder,
                            tide_error *error) {
    *ret = (tide_left_list){.failed_rank = -1, .exception = ""};
    tide_arena_init(&ret->arena, tide_hostmem_default());
    ret->processes =
        tide_arena_alloc(&ret->arena, TIDE_LEFT_MAX_PROCESSES, sizeof(*ret->processes));
    if (ret->processes == NULL) {
        return TIDE_NO_MEMORY;
    }
    *ret_folder = opendir(launch->folder);
    return *ret_folder != NULL ? TIDE_OK
                               : tide_fail(error, TIDE_IO, "%s, the folder of the run: %s",
                                           launch->folder, strerror(errno));
}

tide_status tide_left_read(const tide_launch *launch, tide_left_list *ret, tide_error *error) {
    DIR *folder = NULL;
    TIDE_TRY(tide_left_begin(launch, ret, &folder, error));
    tide_status status = read_folder(launch, folder, ret, error);
    tide_left_drop_survived(launch, ret);
    if (status == TIDE_OK) {
        status = tide_left_read_accounts(launch, ret);
        tide_left_read_failed(launch, ret);
    }
    if (status == TIDE_OK) {
        status = tide_left_read_exception(launch, folder, ret);
    }
    (void)closedir(folder);
    return status;
}

void tide_left_fini(tide_left_list *list) {
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, list->inexact);
    mem->release(mem->ctx, list->assumed);
    mem->release(mem->ctx, list->pools);
    mem->release(mem->ctx, list->xla);
    tide_arena_fini(&list->arena);
}
