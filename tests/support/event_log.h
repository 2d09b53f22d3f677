/* event_log.h - appends whole events to a log. The recorder fills in rows in place instead. */
#ifndef TIDE_TESTS_EVENT_LOG_H
#define TIDE_TESTS_EVENT_LOG_H

#include "recorder/event_log.h"

/* An event for which the log has no room is dropped and counted. */
static inline void append_event(tide_event_log *log, const tide_event *event) {
    tide_event *row = tide_event_log_row_begin(log);
    if (row != NULL) {
        *row = *event;
        tide_event_log_row_end(log);
    }
}

#endif
