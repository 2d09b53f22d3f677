/* settings_internal.h - writes the settings of a replay to its snapshot. */
#ifndef TIDE_REPLAY_SETTINGS_INTERNAL_H
#define TIDE_REPLAY_SETTINGS_INTERNAL_H

#include "allocator/cache.h"
#include "snapshot/document/snapshot.h"

/* Writes every effective constant, under the same names as capture/. */
TIDE_NODISCARD tide_status tide_replay_set_settings(const tide_cache_config *config,
                                                    tide_snapshot *snapshot);

#endif
