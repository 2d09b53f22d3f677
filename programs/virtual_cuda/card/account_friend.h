/* account_friend.h - the account itself, for the files that keep something in it.
 */
#ifndef TIDE_VIRTUAL_CUDA_ACCOUNT_FRIEND_H
#define TIDE_VIRTUAL_CUDA_ACCOUNT_FRIEND_H

#include <stdbool.h>
#include <stddef.h>

#include "common/run_account.h"

/* The account, with its lock held. */
tide_run_account *tide_vc_account_lock(void);
void tide_vc_account_unlock(void);

/* The slot of this process, with the lock held; -1: it has made no context. */
int tide_vc_account_slot(void);

/* Whether other processes see the account. */
bool tide_vc_account_is_shared(void);

/* Gives back what processes took that are gone, with the lock held. */
void tide_vc_account_reap(void);

/* fork.c calls these around a fork. */
void tide_vc_account_before_fork(void);
void tide_vc_account_in_parent(void);
void tide_vc_account_in_child(void);

#endif
