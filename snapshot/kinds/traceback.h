/* traceback.h - the call stacks that Python and IPython print, read line by line out of a log.
 */
#ifndef TIDE_SNAPSHOT_TRACEBACK_H
#define TIDE_SNAPSHOT_TRACEBACK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TRACE_FILE = 512, TIDE_TRACE_FUNCTION = 128, TIDE_TRACE_SOURCE = 160 };

typedef struct tide_trace_frame {
    char file[TIDE_TRACE_FILE];         /* as printed; "": unknown */
    char function[TIDE_TRACE_FUNCTION]; /* "": unknown */
    char source[TIDE_TRACE_SOURCE];     /* the text of the line, without blanks around it */
    int64_t line;
} tide_trace_frame;

typedef struct tide_traceback {
    tide_trace_frame outer;   /* of the program: its first frame */
    tide_trace_frame inner;   /* of the program: its last frame */
    tide_trace_frame library; /* the last frame of a package other than PyTorch */
    tide_trace_frame latest;  /* the last frame */
    bool is_backward;         /* the engine of autograd called from the program's last frame */
    bool is_windows;          /* files have drive letters */
} tide_traceback;

/* Reads the next line, without its line feed and prefix. */
void tide_traceback_line(tide_traceback *trace, const char *line);

#ifdef __cplusplus
}
#endif

#endif
