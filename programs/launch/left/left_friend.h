/* left_friend.h - the content of PID.json.
 */
#ifndef TIDE_LAUNCH_LEFT_FRIEND_H
#define TIDE_LAUNCH_LEFT_FRIEND_H

#include <dirent.h>

#include "programs/launch/left/left.h"

/* Fills the process from the text of its PID.json; rows and texts go into the list's arena.
 * TIDE_FORMAT names the key. */
TIDE_NODISCARD tide_status tide_left_parse(const char *text, tide_left_list *list,
                                           tide_left *ret_process, tide_error *error);

/* left_failure.c. Its part about the first failed request. Sets *ret only if there was one. */
TIDE_NODISCARD tide_status tide_left_read_failure(tide_arena *arena, const cJSON *in,
                                                  const tide_snapshot_at_failure **ret);

/* left_log.c. A process that left only the log at `path`, which the list keeps. TIDE_FORMAT:
 * nothing of it can be read. */
TIDE_NODISCARD tide_status tide_left_read_log(const char *path, int64_t pid, tide_left_list *list,
                                              tide_left *ret_process, tide_error *error);

/* left.c. An empty list with room for TIDE_LEFT_MAX_PROCESSES, and the open folder of the run,
 * which the caller closes. The caller finishes the list after a failure, too. */
TIDE_NODISCARD tide_status tide_left_begin(const tide_launch *launch, tide_left_list *ret,
                                           DIR **ret_folder, tide_error *error);

/* left.c. The process id of a name such as "123.json"; -1 for other files. */
int64_t tide_left_pid_of(const char *name, const char *ending);

/* left_account.c. The memory that the processes used on the cards of their nodes, and the rank that
 * failed first.
 */
TIDE_NODISCARD tide_status tide_left_read_accounts(const tide_launch *launch, tide_left_list *list);
void tide_left_read_failed(const tide_launch *launch, tide_left_list *list);

/* left_exception.c. The exception that ended the program; the folder is that of the run. */
TIDE_NODISCARD tide_status tide_left_read_exception(const tide_launch *launch, DIR *folder,
                                                    tide_left_list *list);

/* Adds what a line of a process's file says to the list, one of whose arrays has room for
 * *capacity. The line may be changed. */
typedef tide_status tide_left_add_line(tide_left_list *list, size_t *capacity, int64_t pid,
                                       char *line);
/* left.c. Calls `add` for each line of PID.ENDING, a file of at most most_bytes. */
TIDE_NODISCARD tide_status tide_left_read_lines(const tide_launch *launch, int64_t pid,
                                                const char *ending, size_t most_bytes,
                                                tide_left_add_line *add, size_t *capacity,
                                                tide_left_list *list, tide_error *error);

/* left.c. Reads n numbers with tabs between them; those below -1 become -1. False: there are
 * fewer. */
bool tide_left_parse_numbers(const char *text, size_t n, int64_t *ret);

/* left_pools.c. Adds the rows of PID.pool to the list, whose array has room for *capacity. */
TIDE_NODISCARD tide_status tide_left_read_pools(const tide_launch *launch, int64_t pid,
                                                size_t *capacity, tide_left_list *list,
                                                tide_error *error);
/* left_pools.c. Sorts them as tide_left_list has them. */
void tide_left_sort_pools(tide_left_list *list);
/* left_pools.c. Drops the pools that were too small, and the requests of XLA without room, which
 * did not end the program: it asked for less and went on. */
void tide_left_drop_survived(const tide_launch *launch, tide_left_list *list);

/* left_xla.c. Adds the rows of PID.xla to the list, whose array has room for *capacity. */
TIDE_NODISCARD tide_status tide_left_read_xla(const tide_launch *launch, int64_t pid,
                                              size_t *capacity, tide_left_list *list,
                                              tide_error *error);

/* left_assumed.c. Adds the rows of PID.assumed to the list, whose array has room for *capacity. */
TIDE_NODISCARD tide_status tide_left_read_assumed(const tide_launch *launch, int64_t pid,
                                                  size_t *capacity, tide_left_list *list,
                                                  tide_error *error);
/* left_assumed.c. Sorts them as tide_left_list has them. */
void tide_left_sort_assumed(tide_left_list *list);

/* left.c. By rank, then by process id. */
void tide_left_sort(tide_left_list *list);

enum { TIDE_LEFT_MAX_PROCESSES = 4096 };

#endif
