#include "snapshot/kinds/log_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    TEXT_BYTES = 64 * 1024, /* longer lines are read in pieces */
    MOST_RANKS = 16,        /* call stacks that may be printed in turn */
    PREFIX_BYTES = 24,
    MESSAGE_LINES = 200,
    COMPARED_BYTES = 160 /* of two messages */
};

/* A call stack that one process prints, known by the prefix of its lines: "[rank0]". */
typedef struct rank_trace {
    char prefix[PREFIX_BYTES];
    tide_traceback trace;
} rank_trace;

typedef struct log_reader {
    tide_log_text *log; /* borrowed */
    rank_trace ranks[MOST_RANKS];
    size_t n_ranks;
    char message[TIDE_OOM_TEXT_BYTES]; /* that is being read; "": none */
    size_t n_message;
    size_t n_message_lines;
    tide_traceback message_trace; /* of the rank that prints it */
    char first[COMPARED_BYTES];   /* the beginning of the message in `log` */
    char text[TEXT_BYTES + 1];    /* lines, and the beginning of one */
} log_reader;

/* Removes the codes of colours. */
static void plain(char *line) {
    char *to = line;
    for (const char *from = line; *from != '\0';) {
        if (*from == '\033' && from[1] == '[') {
            from += 2 + strspn(from + 2, "0123456789;?");
            from += *from != '\0';
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* "[rank0]: " and "[default1]:" of torchrun: its bytes, with the blank; 0: none. */
static size_t prefix_of(const char *line) {
    size_t n_word = *line == '['
                        ? strspn(line + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
                        : 0;
    size_t n_digits = n_word > 0 ? strspn(line + 1 + n_word, "0123456789") : 0;
    size_t n = 1 + n_word + n_digits;
    if (n_digits == 0 || line[n] != ']' || line[n + 1] != ':') {
        return 0;
    }
    return n + 2 + (line[n + 2] == ' ');
}

static tide_traceback *trace_of(log_reader *reader, const char *line, size_t n_prefix) {
    size_t n = n_prefix < PREFIX_BYTES ? n_prefix : PREFIX_BYTES - 1;
    for (size_t i = 0; i < reader->n_ranks; i++) {
        if (strlen(reader->ranks[i].prefix) == n && memcmp(reader->ranks[i].prefix, line, n) == 0) {
            return &reader->ranks[i].trace;
        }
    }
    size_t i = reader->n_ranks < MOST_RANKS ? reader->n_ranks++ : MOST_RANKS - 1;
    memset(&reader->ranks[i], 0, sizeof(reader->ranks[i]));
    memcpy(reader->ranks[i].prefix, line, n);
    return &reader->ranks[i].trace;
}

/* ---- the message ---- */

static void end_message(log_reader *reader) {
    tide_log_text *log = reader->log;
    tide_oom_text oom;
    if (reader->n_message > 0 && tide_oom_text_read(reader->message, &oom)) {
        bool is_better = log->oom.form == TIDE_OOM_NONE ||
                         (log->oom.requested_bytes < 0 && oom.requested_bytes >= 0);
        if (is_better) {
            log->oom = oom;
            log->trace = reader->message_trace;
            (void)snprintf(reader->first, sizeof(reader->first), "%.*s", COMPARED_BYTES - 1,
                           reader->message);
        } else {
            log->has_more |= oom.requested_bytes >= 0 &&
                             strncmp(reader->first, reader->message, COMPARED_BYTES - 1) != 0;
        }
    }
    reader->n_message = 0;
    reader->message[0] = '\0';
}

static void add_to_message(log_reader *reader, const char *text) {
    size_t n_room = sizeof(reader->message) - reader->n_message;
    int n = snprintf(reader->message + reader->n_message, n_room, "%s\n", text);
    reader->n_message = strlen(reader->message);
    reader->n_message_lines++;
    if (n < 0 || (size_t)n >= n_room || reader->n_message_lines >= MESSAGE_LINES) {
        end_message(reader);
    }
}

static bool ends_message(const char *line) {
    return line[strspn(line, " \t\r")] == '\0' || strstr(line, "Traceback (most recent") != NULL ||
           strstr(line, "File \"") != NULL;
}

static void read_message(log_reader *reader, const char *line, const tide_traceback *trace) {
    const char *found = tide_oom_text_find(line);
    if (found != NULL || (reader->n_message > 0 && ends_message(line))) {
        end_message(reader);
    }
    if (found != NULL) {
        reader->n_message_lines = 0;
        reader->message_trace = *trace;
        add_to_message(reader, found);
    } else if (reader->n_message > 0) {
        add_to_message(reader, line);
    }
}

static void read_line(log_reader *reader, char *line) {
    plain(line);
    size_t n_prefix = prefix_of(line);
    tide_traceback *trace = trace_of(reader, line, n_prefix);
    line += n_prefix;
    read_message(reader, line, trace);
    tide_traceback_line(trace, line);
    tide_statistics_text_line(&reader->log->statistics, line);
}

/* Reads the lines that are complete; returns the number of bytes after them. */
static size_t read_complete(log_reader *reader, size_t n_bytes, bool is_end) {
    char *line = reader->text;
    char *const end = reader->text + n_bytes;
    for (char *feed; (feed = memchr(line, '\n', (size_t)(end - line))) != NULL; line = feed + 1) {
        *feed = '\0';
        read_line(reader, line);
    }
    bool is_whole = line == reader->text && n_bytes == TEXT_BYTES;
    if (line < end && (is_end || is_whole)) {
        *end = '\0';
        read_line(reader, line);
        line = end;
    }
    memmove(reader->text, line, (size_t)(end - line));
    return (size_t)(end - line);
}

static tide_status read_lines(log_reader *reader, const tide_source *source, tide_error *error) {
    size_t n_used = 0;
    size_t n_more = 1;
    while (n_more > 0) {
        char *to = reader->text + n_used;
        TIDE_TRY(source->read(source->ctx, to, TEXT_BYTES - n_used, &n_more, error));
        for (size_t i = 0; i < n_more; i++) { /* a NUL would end the line */
            to[i] = to[i] == '\0' ? ' ' : to[i];
        }
        n_used = read_complete(reader, n_used + n_more, n_more == 0);
    }
    end_message(reader);
    return TIDE_OK;
}

tide_status tide_log_text_read(const tide_source *source, const tide_hostmem *mem,
                               tide_log_text *ret_log, tide_error *error) {
    log_reader *reader = tide_hostmem_zeroed(mem, 1, sizeof(*reader));
    if (reader == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(ret_log, 0, sizeof(*ret_log));
    tide_statistics_text_init(&ret_log->statistics);
    reader->log = ret_log;
    tide_status status = read_lines(reader, source, error);
    mem->release(mem->ctx, reader);
    return status;
}
