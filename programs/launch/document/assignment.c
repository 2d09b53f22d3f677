#include "programs/launch/document/assignment.h"

#include <ctype.h>
#include <string.h>

/* A part of a source file. */
typedef struct span {
    const char *begin, *end;
} span;

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* ---- tokens ---- */

/* The end of the text in quotes that begins at `at`; quotes of one line end with it at the latest.
 */
static const char *skip_text(const char *at) {
    char quote = *at;
    bool is_long = at[1] == quote && at[2] == quote;
    for (at += is_long ? 3 : 1; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == quote && (!is_long || (at[1] == quote && at[2] == quote))) {
            return at + (is_long ? 3 : 1);
        } else if (*at == '\n' && !is_long) {
            return at;
        }
    }
    return at;
}

static const char *skip_comment(const char *at) {
    return at + strcspn(at, "\n");
}

static int depth_of(char c) {
    return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/* One step over text in quotes, a comment, a line that goes on, or a character. *depth: of
 * brackets. */
static const char *step(const char *at, int *depth) {
    if (*at == '"' || *at == '\'') {
        return skip_text(at);
    }
    if (*at == '#') {
        return skip_comment(at);
    }
    if (*at == '\\' && at[1] == '\n') {
        return at + 2;
    }
    *depth += depth_of(*at);
    return at + 1;
}

/* The end of the statement that begins at `at`: its last line break, or the end of the file. */
static const char *end_of_statement(const char *at) {
    int depth = 0;
    while (*at != '\0' && !(*at == '\n' && depth <= 0)) {
        at = step(at, &depth);
    }
    return at;
}

static int count_lines(const char *begin, const char *end) {
    int n = 0;
    for (; begin < end; begin++) {
        n += *begin == '\n';
    }
    return n;
}

/* The statement around a line. */
static bool find_statement(const char *source, int line, span *ret) {
    int first = 1;
    for (const char *at = source; *at != '\0' && first <= line;) {
        const char *end = end_of_statement(at);
        int last = first + count_lines(at, end);
        if (line <= last) {
            *ret = (span){at, end};
            return true;
        }
        first = last + 1;
        at = *end == '\0' ? end : end + 1;
    }
    return false;
}

/* ---- the statement ---- */

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

/* The end of the name at `at`. */
static const char *skip_name(const char *at, const char *end) {
    while (at < end && is_name(*at)) {
        at++;
    }
    return at;
}

/* The end of the brackets that open at `at`. */
static const char *skip_brackets(const char *at, const char *end) {
    int depth = 0;
    do {
        at = step(at, &depth);
    } while (at < end && depth > 0);
    return at;
}

/* The `=` of an assignment after its name, and after the name's type if it has one; NULL. */
static const char *find_sign(const char *at, const char *end) {
    at = skip_blanks(at, end);
    if (at < end && *at == ':') {
        int depth = 0;
        while (at < end && (depth > 0 || *at != '=')) {
            at = step(at, &depth);
        }
    }
    return at < end && *at == '=' && at[1] != '=' ? at : NULL;
}

static bool is_one_of(span name, const char *const *names) {
    size_t n = (size_t)(name.end - name.begin);
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strlen(names[i]) == n && memcmp(names[i], name.begin, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Functions whose results are no tensors, and methods. */
static const char *const FUNCTIONS[] = {"int",  "float", "bool",  "str",   "len", "list",
                                        "dict", "next",  "tuple", "print", "set", "sorted",
                                        "zip",  "not",   "yield", "await", NULL};
static const char *const METHODS[] = {"item", "tolist", "numpy", "cpu", "size", "numel", NULL};

/* Words before a ':' and a statement. */
static const char *const CLAUSES[] = {"else", "try", "finally", NULL};

/* Whether the value is `a.b[0].c(..)` and nothing else, and its last call can make a tensor. */
static bool is_call(span value) {
    const char *at = value.begin;
    span name = {at, at};
    bool is_method = false;
    if (at >= value.end || !is_name(*at) || isdigit((unsigned char)*at)) {
        return false;
    }
    while (at < value.end) {
        if (*at == '.') {
            is_method = true;
            at++;
        } else if (is_name(*at)) {
            name = (span){at, skip_name(at, value.end)};
            at = name.end;
        } else if (*at == '(' || *at == '[') {
            at = skip_brackets(at, value.end);
        } else {
            return false;
        }
    }
    return value.end[-1] == ')' && !is_one_of(name, is_method ? METHODS : FUNCTIONS);
}

/* The value without a comment and blanks at its end. */
static span trim(span value) {
    int depth = 0;
    const char *last = value.begin;
    for (const char *at = value.begin; at < value.end;) {
        const char *next = step(at, &depth);
        if (*at != '#' && *at != ' ' && *at != '\t' && *at != '\r' && *at != '\n') {
            last = next;
        }
        at = next;
    }
    return (span){value.begin, last};
}

bool tide_assigned_name(const char *source, int line, const char **ret_name, size_t *ret_n_bytes) {
    span statement;
    if (line < 1 || !find_statement(source, line, &statement)) {
        return false;
    }
    const char *begin = skip_blanks(statement.begin, statement.end);
    const char *end = skip_name(begin, statement.end);
    const char *sign =
        end > begin && !isdigit((unsigned char)*begin) ? find_sign(end, statement.end) : NULL;
    if (sign == NULL || is_one_of((span){begin, end}, CLAUSES) ||
        !is_call(trim((span){skip_blanks(sign + 1, statement.end), statement.end}))) {
        return false;
    }
    *ret_name = begin;
    *ret_n_bytes = (size_t)(end - begin);
    return true;
}
