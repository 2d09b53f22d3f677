#include "snapshot/kinds/traceback.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/analysis/user_frame.h"

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Copies n bytes without the blanks around them. */
static void copy(char *to, size_t n_room, const char *from, size_t n) {
    while (n > 0 && isspace((unsigned char)*from)) {
        from++;
        n--;
    }
    while (n > 0 && isspace((unsigned char)from[n - 1])) {
        n--;
    }
    n = n < n_room ? n : n_room - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

/* "train", of "train(self, x)" and "<module>()". */
static void copy_function(tide_trace_frame *frame, const char *from) {
    copy(frame->function, sizeof(frame->function), from, strcspn(from, "(\r\n"));
    if (starts_with(frame->function, "<cell line") || strcmp(frame->function, "<module>") == 0) {
        frame->function[0] = '\0';
    }
}

/* '  File "train.py", line 12, in step' */
static bool read_python(const char *line, tide_trace_frame *frame) {
    static const char BEFORE[] = "File \"";
    static const char AFTER[] = "\", line ";
    const char *file = strstr(line, BEFORE);
    const char *end = file != NULL ? strstr(file, AFTER) : NULL;
    if (end == NULL) {
        return false;
    }
    file += sizeof(BEFORE) - 1;
    copy(frame->file, sizeof(frame->file), file, (size_t)(end - file));
    frame->line = strtoll(end + sizeof(AFTER) - 1, NULL, 10);
    const char *in = strstr(end, ", in ");
    if (in != NULL) {
        copy_function(frame, in + 5);
    }
    return true;
}

/* "Cell In[3], line 12, in step(x)", "Input In [3], in <cell line: 12>()" */
static bool read_cell(const char *line, tide_trace_frame *frame) {
    if (!starts_with(line, "Cell In") && !starts_with(line, "Input In")) {
        return false;
    }
    const char *begin = strchr(line, '[');
    const char *end = begin != NULL ? strchr(begin, ']') : NULL;
    if (end == NULL) {
        return false;
    }
    (void)snprintf(frame->file, sizeof(frame->file), "<ipython-input%.*s>", (int)(end + 1 - begin),
                   begin);
    const char *number = strstr(end, "line ");
    number = number != NULL ? number + 5 : strstr(end, "line: ");
    frame->line = number != NULL ? strtoll(number + strspn(number, "line: "), NULL, 10) : 0;
    const char *in = strstr(end, ", in ");
    if (in != NULL) {
        copy_function(frame, in + 5);
    }
    return true;
}

/* "File ~/model.py:12, in Net.forward(self, x)", or of older versions "~/model.py in step(x)" and
 * "<ipython-input-3-f00> in <module>", whose number is before the line with the arrow. */
static bool read_ipython(const char *line, tide_trace_frame *frame) {
    bool is_new = starts_with(line, "File ");
    const char *file = is_new ? line + 5 : line;
    const char *in = strstr(file, is_new ? ", in " : " in ");
    if (isspace((unsigned char)*file) || in == NULL || (!is_new && strchr(file, ' ') != in)) {
        return false;
    }
    size_t n_file = (size_t)(in - file);
    if (is_new) {
        while (n_file > 0 && isdigit((unsigned char)file[n_file - 1])) {
            n_file--;
        }
        if (n_file == 0 || file[n_file - 1] != ':') {
            return false;
        }
        frame->line = strtoll(file + n_file, NULL, 10);
        n_file--;
    }
    copy(frame->file, sizeof(frame->file), file, n_file);
    copy_function(frame, in + (is_new ? 5 : 4));
    return tide_file_is_python(frame->file);
}

static void place(tide_traceback *trace, const tide_trace_frame *frame) {
    size_t n_package = 0;
    const char *package = tide_file_package(frame->file, &n_package);
    bool is_torch = package != NULL && n_package == 5 && starts_with(package, "torch");
    if (tide_file_is_program(frame->file)) {
        trace->inner = *frame;
        trace->outer = trace->outer.file[0] == '\0' ? *frame : trace->outer;
        trace->is_backward = false;
    } else if (package != NULL && !is_torch) {
        trace->library = *frame;
    }
    trace->is_backward |= is_torch && strstr(frame->function, "backward") != NULL;
    trace->is_windows |= isalpha((unsigned char)frame->file[0]) && frame->file[1] == ':';
    trace->latest = *frame;
}

/* The source of the last frame: a line below it, or in IPython the line with an arrow, which has
 * the number, also. */
static void add_source(tide_traceback *trace, const char *line) {
    tide_trace_frame *latest = &trace->latest;
    const char *text = line;
    if (strspn(text, "-") >= 2 && text[strspn(text, "-")] == '>') {
        char *end = NULL;
        int64_t number = strtoll(text + strspn(text, "->"), &end, 10);
        latest->line = latest->line > 0 ? latest->line : number;
        latest->source[0] = '\0'; /* what was before the arrow is the source around it */
        text = end;
    } else if (!starts_with(line, "  ") || latest->source[0] != '\0' ||
               isdigit((unsigned char)text[strspn(text, " ")]) ||
               text[strspn(text, " ~^-")] == '\0') {
        return;
    }
    copy(latest->source, sizeof(latest->source), text, strlen(text));
    tide_trace_frame *const kept[] = {&trace->outer, &trace->inner, &trace->library};
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (strcmp(kept[i]->file, latest->file) == 0 &&
            (kept[i]->line == latest->line || kept[i]->line == 0)) {
            *kept[i] = *latest;
        }
    }
}

void tide_traceback_line(tide_traceback *trace, const char *line) {
    tide_trace_frame frame = {.file = ""};
    if (strstr(line, "Traceback (most recent call last)") != NULL) {
        *trace = (tide_traceback){.is_windows = trace->is_windows};
    } else if (read_python(line, &frame) || read_cell(line, &frame) || read_ipython(line, &frame)) {
        place(trace, &frame);
    } else if (trace->latest.file[0] != '\0') {
        add_source(trace, line);
    }
}
