/* left_account.c - the files of a run that belong to no process: the accounts of the cards, and the
 * rank that failed first. */
#include <stdio.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/left/left_friend.h"

enum { PATH_BYTES = TIDE_LAUNCH_PATH_BYTES + 64 };

/* The account of a node's cards, which its processes shared. Missing if no process used a card.
 */
static tide_status read_account(const tide_launch *launch, int64_t node, tide_run_device *ret) {
    const tide_hostmem *mem = tide_hostmem_default();
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%s", launch->folder, TIDE_RUN_ACCOUNT_NAME);
    if (node > 0 && n > 0 && n < PATH_BYTES) {
        snprintf(path + n, sizeof(path) - (size_t)n, ".%lld", (long long)node);
    }
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return TIDE_OK;
    }
    tide_run_account *account = tide_hostmem_zeroed(mem, 1, sizeof(*account));
    if (account != NULL && fread(account, sizeof(*account), 1, file) == 1 &&
        account->magic == TIDE_RUN_ACCOUNT_MAGIC) {
        memcpy(ret, account->devices, sizeof(account->devices));
    }
    tide_status status = account != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    (void)fclose(file); /* was only read */
    mem->release(mem->ctx, account);
    return status;
}

/* The account of the node, if an earlier process of the list already has it. */
static const tide_run_device *find_account(const tide_left_list *list, size_t n_processes,
                                           int64_t node) {
    for (size_t i = 0; i < n_processes; i++) {
        if (list->processes[i].node == node) {
            return list->processes[i].account;
        }
    }
    return node <= 0 ? list->devices : NULL;
}

tide_status tide_left_read_accounts(const tide_launch *launch, tide_left_list *list) {
    TIDE_TRY(read_account(launch, 0, list->devices));
    for (size_t i = 0; i < list->n_processes; i++) {
        tide_left *process = &list->processes[i];
        process->account = find_account(list, i, process->node);
        if (process->account == NULL) {
            tide_run_device *devices =
                tide_arena_alloc(&list->arena, TIDE_RUN_DEVICES, sizeof(*devices));
            if (devices == NULL) {
                return TIDE_NO_MEMORY;
            }
            memset(devices, 0, TIDE_RUN_DEVICES * sizeof(*devices));
            TIDE_TRY(read_account(launch, process->node, devices));
            process->account = devices;
        }
    }
    return TIDE_OK;
}

/* python/tidemark/cluster writes it. */
void tide_left_read_failed(const tide_launch *launch, tide_left_list *list) {
    char path[PATH_BYTES];
    long long rank = -1;
    int status = 0;
    snprintf(path, sizeof(path), "%s/failed", launch->folder);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "%lld %d", &rank, &status) == 2) {
        list->failed_rank = rank;
        list->failed_status = status;
    }
    if (file != NULL) {
        (void)fclose(file); /* was only read */
    }
}
