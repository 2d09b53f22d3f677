/* file_answer_internal.h - the writers of answers, one a kind, and the words that they share.
 */
#ifndef TIDE_SNAPSHOT_FILE_ANSWER_INTERNAL_H
#define TIDE_SNAPSHOT_FILE_ANSWER_INTERNAL_H

#include "common/text/text.h"
#include "snapshot/kinds/file_answer.h"
#include "snapshot/kinds/log_text.h"
#include "snapshot/kinds/traceback.h"

/* The line of the program that a call stack led to; else that of a library; NULL: unknown. */
const tide_trace_frame *tide_file_answer_line(const tide_traceback *trace);
/* "train (train.py:12)" */
void tide_file_answer_add_place(const tide_trace_frame *frame, tide_text *to);
/* Whose devices a file is about. */
typedef enum tide_file_devices {
    TIDE_FILE_CUDA = 0,
    TIDE_FILE_ROCM, /* PyTorch's module for them is torch.cuda, too */
    TIDE_FILE_XPU
} tide_file_devices;

/* "Not known from a message: ...": with the command that records it; that of PyTorch if tidemark
 * cannot run the program: outside of CUDA, on Windows, in a notebook. */
void tide_file_answer_say_record(tide_file_answer *answer, const tide_traceback *trace,
                                 tide_file_devices devices, const char *file, const char *unknown);

/* trace_answer.c. TIDE_FORMAT: the trace has no events about memory. */
TIDE_NODISCARD tide_status tide_file_answer_trace(tide_file_answer *answer,
                                                  const tide_source *source, const char *path,
                                                  tide_error *error);
/* timeline_answer.c; is_raw: a row is an event. */
TIDE_NODISCARD tide_status tide_file_answer_timeline(tide_file_answer *answer,
                                                     const tide_source *source, bool is_raw,
                                                     const char *path, tide_error *error);
/* nsys_answer.c. Reads the file itself, in any order. */
TIDE_NODISCARD tide_status tide_file_answer_nsys(tide_file_answer *answer, const char *path,
                                                 tide_error *error);
/* oom_words.c */
void tide_file_answer_oom(tide_file_answer *answer, const tide_log_text *log);
/* statistics_words.c */
void tide_file_answer_statistics(tide_file_answer *answer, const tide_log_text *log);

#endif
