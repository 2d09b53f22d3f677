/* settings.h - the part of `tidemark summary` about the allocator's settings. */
#ifndef TIDE_CLI_SUMMARY_SETTINGS_H
#define TIDE_CLI_SUMMARY_SETTINGS_H

#include "report/table.h"
#include "snapshot/document/snapshot.h"

/* A sentence with the settings that are not the default; nothing if all are. */
void tide_summary_settings(tide_report *report, const tide_snapshot *snapshot);

#endif
