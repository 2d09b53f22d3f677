/* settings_internal.h - settings from a snapshot and into one. */
#ifndef TIDE_REPLAY_SETTINGS_INTERNAL_H
#define TIDE_REPLAY_SETTINGS_INTERNAL_H

#include "allocator/cache.h"
#include "snapshot/snapshot.h"

/* Every effective constant, as capture/ writes them. */
TIDE_NODISCARD tide_status tide_replay_set_settings(const tide_cache_config *config,
                                                    tide_snapshot *snapshot);

#endif
