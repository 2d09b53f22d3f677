/* Finds the program of a command, and checks that libraries can be preloaded into it: the dynamic
 * linker ignores LD_PRELOAD in programs with the rights of another user, and static programs have
 * no dynamic linker. */
#define _POSIX_C_SOURCE 200809L
#include <elf.h> /* ELFMAG */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "programs/launch/launch_internal.h"
#include "programs/launch/torch_version.h"

enum { MAX_SCRIPTS = 4, LINE_BYTES = 512 };

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Searches PATH; its empty entries mean the current folder. */
static bool search(const char *command, char ret_path[TIDE_LAUNCH_PATH_BYTES]) {
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : "/usr/bin:/bin"; at != NULL;) {
        size_t n = strcspn(at, ":");
        int length = snprintf(ret_path, TIDE_LAUNCH_PATH_BYTES, "%.*s%s%s", (int)n, at,
                              n > 0 ? "/" : "./", command);
        if (length < TIDE_LAUNCH_PATH_BYTES && is_program(ret_path)) {
            return true;
        }
        at = at[n] == ':' ? at + n + 1 : NULL;
    }
    return false;
}

static bool has_python_ending(const char *command) {
    size_t n = strlen(command);
    return n > strlen(".py") && strcmp(command + n - strlen(".py"), ".py") == 0;
}

static tide_status find(const char *command, char ret_path[TIDE_LAUNCH_PATH_BYTES],
                        tide_error *error) {
    struct stat info;
    if (strchr(command, '/') == NULL) {
        bool is_found = search(command, ret_path);
        if (!is_found && has_python_ending(command)) {
            return tide_fail(error, TIDE_INVALID, "no such file: %s", command);
        }
        return is_found ? TIDE_OK
                        : tide_fail(error, TIDE_INVALID,
                                    "no such program: %s is in no folder of PATH%s", command,
                                    access(command, F_OK) == 0
                                        ? "; for the file of this folder write ./ before its name"
                                        : "");
    }
    if (snprintf(ret_path, TIDE_LAUNCH_PATH_BYTES, "%s", command) >= TIDE_LAUNCH_PATH_BYTES ||
        stat(command, &info) != 0) {
        return tide_fail(error, TIDE_INVALID, "no such program: %s: %s", command, strerror(errno));
    }
    if (!is_program(command)) {
        return tide_fail(error, TIDE_INVALID, "%s is %s", command,
                         S_ISDIR(info.st_mode)
                             ? "a folder, not a program"
                             : "not executable: name the program that runs it before it, "
                               "such as python");
    }
    return TIDE_OK;
}

/* The interpreter of a script, from its first line: "#!/usr/bin/env python3" gives python3. */
static bool read_interpreter(const char *line, char ret_command[LINE_BYTES]) {
    char text[LINE_BYTES];
    char *rest = NULL;
    snprintf(text, sizeof(text), "%s", line);
    text[strcspn(text, "\r\n")] = '\0';
    char *word = strtok_r(text, " \t", &rest);
    const char *base = word != NULL ? strrchr(word, '/') : NULL;
    if (base != NULL && strcmp(base, "/env") == 0) {
        do {
            word = strtok_r(NULL, " \t", &rest);
        } while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
    }
    snprintf(ret_command, LINE_BYTES, "%s", word != NULL ? word : "");
    return word != NULL;
}

static tide_status check_rights(const char *path, tide_error *error) {
    struct stat info;
    if (stat(path, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is setuid or setgid: the system preloads no library into a program "
                         "with the rights of another user",
                         path);
    }
    if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) {
        return tide_fail(error, TIDE_INVALID,
                         "%s has capabilities of its own (setcap): the system preloads no library "
                         "into such a program; run a copy of it without them",
                         path);
    }
    return TIDE_OK;
}

/* Decides by the first bytes of the file. *ret_command: for a script, the command that interprets
 * it. */
static tide_status check_file(const char *path, char ret_command[LINE_BYTES], tide_error *error) {
    char head[LINE_BYTES] = "";
    ret_command[0] = '\0';
    TIDE_TRY(check_rights(path, error));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return TIDE_OK; /* it may be executable but not readable: the system decides */
    }
    ssize_t n = read(fd, head, sizeof(head) - 1);
    tide_status status = TIDE_OK;
    if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
        status = tide_launch_check_elf(fd, path, error);
    } else if (strncmp(head, "#!", 2) != 0 || !read_interpreter(head + 2, ret_command)) {
        status = tide_fail(error, TIDE_INVALID,
                           "%s is neither a program nor a script that begins with #!", path);
    }
    (void)close(fd); /* was only read */
    return status;
}

/* Refuses a Python whose PyTorch is known not to run here. A Python that does not answer, or has no
 * PyTorch, may run a program without PyTorch. */
static tide_status check_torch(const char *interpreter, tide_error *error) {
    const char *slash = strrchr(interpreter, '/');
    const char *name = slash != NULL ? slash + 1 : interpreter;
    tide_torch torch;
    if (strncmp(name, "python", strlen("python")) != 0 ||
        tide_torch_find(interpreter, &torch, NULL) != TIDE_OK || torch.folder[0] == '\0') {
        return TIDE_OK;
    }
    return tide_torch_check(&torch, error);
}

tide_status tide_launch_find_program(const char *command, tide_launch_program *ret_program,
                                     tide_error *error) {
    char next[LINE_BYTES];
    char *path = ret_program->interpreter;
    TIDE_TRY(find(command, ret_program->path, error));
    snprintf(path, TIDE_LAUNCH_PATH_BYTES, "%s", ret_program->path);
    for (int i = 0; i < MAX_SCRIPTS; i++) {
        TIDE_TRY(check_file(path, next, error));
        if (next[0] == '\0') {
            return check_torch(path, error);
        }
        tide_status status = find(next, path, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "the interpreter of %s", ret_program->path);
            return status;
        }
    }
    return TIDE_OK; /* scripts that interpret scripts: the system has its own limit */
}

/* ---- Python files ---- */

static bool is_python_file(const char *command) {
    struct stat info;
    return has_python_ending(command) && stat(command, &info) == 0 && S_ISREG(info.st_mode);
}

static bool starts_itself(const char *path) {
    char head[2] = "";
    int fd = strchr(path, '/') != NULL && is_program(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool is_script = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
                     memcmp(head, "#!", sizeof(head)) == 0;
    if (fd >= 0) {
        (void)close(fd); /* was only read */
    }
    return is_script;
}

bool tide_launch_is_program(const char *command) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    return is_python_file(command) || find(command, path, NULL) == TIDE_OK;
}

tide_status tide_launch_find_interpreter(const char *command, char **ret_name, tide_error *error) {
    static char NAMES[][8] = {"python", "python3"};
    char path[TIDE_LAUNCH_PATH_BYTES];
    char *name = NULL;
    if (!is_python_file(command) || starts_itself(command)) {
        *ret_name = NULL;
        return TIDE_OK;
    }
    for (size_t i = 0; name == NULL && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        name = search(NAMES[i], path) ? NAMES[i] : NULL;
    }
    if (name == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is a Python file, and PATH has neither python nor python3: write the "
                         "interpreter before it: /path/to/python %s",
                         command, command);
    }
    *ret_name = name;
    return TIDE_OK;
}
