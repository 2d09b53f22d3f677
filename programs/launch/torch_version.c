#define _POSIX_C_SOURCE 200809L
#include "programs/launch/torch_version.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/text_file.h"
#include "programs/launch/ask.h"

/* The versions that were run, or whose functions were compared with the virtual card's list
 * (tests/virtual_cuda/needed.txt). */
enum { LOWEST_MINOR = 3, HIGHEST_MINOR = 14, LOWEST_CUDA = 12, HIGHEST_CUDA = 13 };
enum { WAIT_MS = 10000, ANSWER_BYTES = 8192 };

/* find_spec finds a package without loading it. Other output of Python's start is skipped.
 */
static const char MARK[] = "tidemark:";
static const char QUESTION[] = "import importlib.util as u, os, sys\n"
                               "s = u.find_spec('torch')\n"
                               "print('\\ntidemark:%s\\ntidemark:%s' % (sys.executable,"
                               " os.path.dirname(s.origin) if s and s.origin else ''))\n";

extern char **environ;

static tide_status ask(const char *python, char answer[ANSWER_BYTES], tide_error *error) {
    char name[4096]; /* posix_spawn requires writable texts */
    char option[] = "-c";
    char question[sizeof(QUESTION)];
    char *const arguments[] = {name, option, question, NULL};
    snprintf(name, sizeof(name), "%s", python);
    memcpy(question, QUESTION, sizeof(question));
    const tide_ask asked = {.arguments = arguments, .environment = environ, .wait_ms = WAIT_MS};
    int failed = tide_ask_program(&asked, answer, ANSWER_BYTES);
    return failed == 0
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "no Python: %s: %s", python, strerror(failed));
}

/* The next line of the answer that has our mark, without the mark; NULL if there is none. */
static const char *next_line(char **answer) {
    char *at = strstr(*answer, MARK);
    if (at == NULL || at[strcspn(at, "\n")] == '\0') {
        return NULL;
    }
    at += sizeof(MARK) - 1;
    *answer = at + strcspn(at, "\n") + 1;
    at[strcspn(at, "\n")] = '\0';
    return at;
}

tide_status tide_torch_find(const char *python, tide_torch *ret_torch, tide_error *error) {
    char of_environment[4096];
    char answer[ANSWER_BYTES] = "";
    char *rest = answer;
    const char *environment = getenv("VIRTUAL_ENV");
    if (python == NULL && environment != NULL && environment[0] != '\0') {
        snprintf(of_environment, sizeof(of_environment), "%s/bin/python", environment);
        python = of_environment;
    }
    python = python != NULL ? python : "python3";
    TIDE_TRY(ask(python, answer, error));
    const char *executable = next_line(&rest);
    const char *folder = next_line(&rest);
    if (folder == NULL) {
        return tide_fail(error, TIDE_INVALID, "%s does not answer as Python 3 does", python);
    }
    tide_torch found = {.version = ""};
    if (folder[0] != '\0') {
        TIDE_TRY(tide_torch_read(folder, &found, error));
    }
    snprintf(found.python, sizeof(found.python), "%s", executable[0] != '\0' ? executable : python);
    *ret_torch = found;
    return TIDE_OK;
}

/* A quoted text in version.py; "" if the value is None. */
static void read_value(const char *path, const char *key, char *ret_value, size_t n_room) {
    char line[128];
    ret_value[0] = '\0';
    if (tide_text_file_value(path, key, '=', line, sizeof(line))) {
        const char *from = strpbrk(line, "'\"");
        const char *start_of_text = from != NULL ? from + 1 : (line[0] == 'N' ? "" : line);
        snprintf(ret_value, n_room, "%.*s", (int)strcspn(start_of_text, "'\"\r\n"), start_of_text);
    }
}

tide_status tide_torch_read(const char *folder, tide_torch *ret_torch, tide_error *error) {
    tide_torch read = {.version = ""};
    char path[4096 + 16];
    snprintf(path, sizeof(path), "%s/version.py", folder);
    read_value(path, "__version__", read.version, sizeof(read.version));
    read_value(path, "cuda", read.cuda, sizeof(read.cuda));
    read_value(path, "hip", read.rocm, sizeof(read.rocm));
    if (read.version[0] == '\0') {
        return tide_fail(error, TIDE_FORMAT,
                         "%s names no version of PyTorch: install PyTorch again", path);
    }
    snprintf(read.folder, sizeof(read.folder), "%s", folder);
    *ret_torch = read;
    return TIDE_OK;
}

tide_status tide_torch_check(const tide_torch *torch, tide_error *error) {
    char *end = NULL;
    if (torch->folder[0] == '\0') {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "%s has no PyTorch: install a CUDA build (pip install torch)",
                         torch->python);
    }
    if (torch->rocm[0] != '\0') {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "torch %s is built for AMD's ROCm %s: install a CUDA build",
                         torch->version, torch->rocm);
    }
    if (torch->cuda[0] == '\0') {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "torch %s has no CUDA in it: install a CUDA build", torch->version);
    }
    long major = strtol(torch->version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : -1;
    if (major != 2 || minor < LOWEST_MINOR || minor > HIGHEST_MINOR) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "torch %s is not supported: the virtual card serves PyTorch 2.%d to 2.%d",
                         torch->version, LOWEST_MINOR, HIGHEST_MINOR);
    }
    long cuda = strtol(torch->cuda, NULL, 10);
    if (cuda < LOWEST_CUDA || cuda > HIGHEST_CUDA) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "torch %s is built for CUDA %s: the virtual card serves CUDA %d and %d",
                         torch->version, torch->cuda, LOWEST_CUDA, HIGHEST_CUDA);
    }
    return TIDE_OK;
}
