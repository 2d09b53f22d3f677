/* account_friend.h - the account itself, for the files that store something in it.
 */
#ifndef TIDE_VIRTUAL_CUDA_ACCOUNT_FRIEND_H
#define TIDE_VIRTUAL_CUDA_ACCOUNT_FRIEND_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/wire/run_account.h"

/* Locks the account and returns it. */
tide_run_account *tide_vc_account_lock(void);
void tide_vc_account_unlock(void);

/* The slot of this process, or -1 if it has made no context. The caller holds the lock. */
int tide_vc_account_slot(void);

/* Whether other processes share the account. */
bool tide_vc_account_is_shared(void);

/* Releases the memory of processes that have ended. The caller holds the lock. */
void tide_vc_account_reap(void);

/* fork.c calls these around a fork. */
void tide_vc_account_before_fork(void);
void tide_vc_account_in_parent(void);
void tide_vc_account_in_child(void);

#endif
