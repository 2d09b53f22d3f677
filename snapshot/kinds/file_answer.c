#include "snapshot/kinds/file_answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/text/text.h"
#include "snapshot/format/gzip_file.h"
#include "snapshot/kinds/file_answer_internal.h"
#include "snapshot/kinds/beginning.h"

/* Of the uncompressed text. */
#define MAX_TEXT_BYTES ((size_t)1 << 31)

void tide_file_answer_init(tide_file_answer *answer, const tide_hostmem *mem) {
    memset(answer, 0, sizeof(*answer));
    tide_arena_init(&answer->arena, mem);
}

void tide_file_answer_fini(tide_file_answer *answer) {
    tide_arena_fini(&answer->arena);
}

void tide_file_answer_say(tide_file_answer *answer, const char *key, const char *format, ...) {
    char words[TIDE_SENTENCE_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    va_list arguments;
    va_start(arguments, format);
    tide_text_add_list(&text, format, arguments);
    va_end(arguments);
    const char *copy = tide_arena_text(&answer->arena, words);
    answer->is_short_of_memory |= copy == NULL;
    if (copy != NULL && answer->n_sentences < TIDE_FILE_ANSWER_ITEMS) {
        answer->sentences[answer->n_sentences].key = key;
        answer->sentences[answer->n_sentences++].text = copy;
    }
}

void tide_file_answer_figure(tide_file_answer *answer, const char *key, int64_t value) {
    if (value >= 0 && answer->n_figures < TIDE_FILE_ANSWER_ITEMS) {
        answer->figures[answer->n_figures].key = key;
        answer->figures[answer->n_figures++].value = value;
    }
}

/* ---- words that the kinds share ---- */

const tide_trace_frame *tide_file_answer_line(const tide_traceback *trace) {
    return trace->inner.file[0] != '\0'     ? &trace->inner
           : trace->library.file[0] != '\0' ? &trace->library
                                            : NULL;
}

/* Without folders of any system. */
static const char *name_of(const char *file) {
    const char *name = file;
    for (const char *at = file; *at != '\0'; at++) {
        name = *at == '/' || *at == '\\' ? at + 1 : name;
    }
    return name;
}

void tide_file_answer_add_place(const tide_trace_frame *frame, tide_text *to) {
    bool has_function = frame->function[0] != '\0';
    tide_text_add(to, has_function ? "%s (%s" : "%s%s", frame->function, name_of(frame->file));
    if (frame->line > 0) {
        tide_text_add(to, ":%" PRId64, frame->line);
    }
    tide_text_add(to, has_function ? ")" : "");
}

void tide_file_answer_say_record(tide_file_answer *answer, const tide_traceback *trace,
                                 tide_file_devices devices, const char *file, const char *unknown) {
    const char *program = name_of(trace->outer.file);
    const char *module = devices == TIDE_FILE_XPU ? "xpu" : "cuda";
    if (devices != TIDE_FILE_CUDA || trace->is_windows || program[0] == '<') {
        tide_file_answer_say(
            answer, "unknown",
            "Not known from %s: %s. To record it, put "
            "torch.%s.memory._record_memory_history(max_entries=1000000) before the "
            "work and torch.%s.memory._dump_snapshot('memory.pickle') after it, or "
            "where the exception is caught.",
            file, unknown, module, module);
    } else {
        bool has_program = program[0] != '\0';
        tide_file_answer_say(
            answer, "unknown",
            "Not known from %s: %s. `tidemark run %s%s` with %s arguments records it, "
            "and `tidemark explain` reads the recording.",
            file, unknown, has_program ? "python " : "COMMAND", program,
            has_program ? "its" : "the program's");
    }
}

/* ---- the kinds ---- */

static tide_status answer_text(const tide_source *source, const char *path,
                               tide_file_answer *answer, tide_error *error) {
    const tide_hostmem *mem = answer->arena.mem;
    tide_log_text *log = mem->alloc(mem->ctx, sizeof(*log));
    if (log == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = tide_log_text_read(source, mem, log, error);
    if (status == TIDE_OK && log->oom.form != TIDE_OOM_NONE) {
        tide_file_answer_oom(answer, log);
    } else if (status == TIDE_OK && log->statistics.n_read > 0) {
        tide_file_answer_statistics(answer, log);
    } else if (status == TIDE_OK) {
        status = tide_fail(error, TIDE_FORMAT,
                           "'%s' is a text, not a snapshot, and has neither the message of a "
                           "request that found no memory nor statistics of PyTorch's allocator",
                           path);
    }
    mem->release(mem->ctx, log);
    return status;
}

static tide_status answer_kind(tide_kind kind, const tide_source *source, const char *path,
                               tide_file_answer *answer, bool *ret_is_answered, tide_error *error) {
    *ret_is_answered = true;
    switch (kind) {
    case TIDE_KIND_TEXT:
        return answer_text(source, path, answer, error);
    case TIDE_KIND_TRACE:
        return tide_file_answer_trace(answer, source, path, error);
    case TIDE_KIND_SQLITE:
        return tide_file_answer_nsys(answer, path, error);
    case TIDE_KIND_TIMELINE:
    case TIDE_KIND_RAW_TIMELINE:
        return tide_file_answer_timeline(answer, source, kind == TIDE_KIND_RAW_TIMELINE, path,
                                         error);
    default:
        *ret_is_answered = false;
        return TIDE_OK;
    }
}

tide_status tide_file_answer_read(const char *path, tide_file_answer *answer, bool *ret_is_answered,
                                  tide_error *error) {
    const tide_hostmem *mem = answer->arena.mem;
    tide_gzip_reader *file = NULL;
    tide_beginning beginning;
    *ret_is_answered = false;
    if (!tide_gzip_reader_can_repeat(path)) {
        return TIDE_OK; /* a pipe can be read once, as a snapshot */
    }
    TIDE_TRY(tide_gzip_reader_open(path, mem, MAX_TEXT_BYTES, &file, error));
    const tide_source text = {.read = tide_gzip_reader_read, .ctx = file};
    tide_status status = tide_beginning_init(&beginning, text, error);
    if (status == TIDE_OK) {
        const tide_source source = tide_beginning_source(&beginning);
        status = answer_kind(beginning.kind, &source, path, answer, ret_is_answered, error);
    }
    tide_gzip_reader_close(file);
    return status == TIDE_OK && answer->is_short_of_memory ? TIDE_NO_MEMORY : status;
}
