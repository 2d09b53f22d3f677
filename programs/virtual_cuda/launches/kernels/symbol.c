#define _GNU_SOURCE /* memmem */
#include "programs/virtual_cuda/launches/kernels/symbol_internal.h"

#include <string.h>

static tide_vc_text trimmed(const char *from, const char *to) {
    while (from < to && *from == ' ') {
        from++;
    }
    while (to > from && to[-1] == ' ') {
        to--;
    }
    return (tide_vc_text){from, (size_t)(to - from)};
}

tide_vc_text tide_vc_symbol_part(tide_vc_text list, size_t i) {
    const char *from = list.at;
    const char *end = list.at + list.n;
    int depth = 0;
    for (const char *at = list.at; at < end; at++) {
        depth += *at == '<' || *at == '(' || *at == '{';
        bool is_close = *at == '>' || *at == ')' || *at == '}';
        bool is_end = is_close && depth == 0;
        depth -= is_close;
        if (is_end || (*at == ',' && depth == 0)) {
            if (i == 0 || is_end) {
                return i == 0 ? trimmed(from, at) : (tide_vc_text){NULL, 0};
            }
            i--;
            from = at + 1;
        }
    }
    return i == 0 && list.n > 0 ? trimmed(from, end) : (tide_vc_text){NULL, 0};
}

static const char *find(tide_vc_text text, const char *part) {
    return text.n > 0 ? memmem(text.at, text.n, part, strlen(part)) : NULL;
}

bool tide_vc_text_has(tide_vc_text text, const char *part) {
    return find(text, part) != NULL;
}

bool tide_vc_text_begins(tide_vc_text text, const char *part) {
    size_t n = strlen(part);
    return text.n >= n && memcmp(text.at, part, n) == 0;
}

tide_vc_text tide_vc_symbol_argument(tide_vc_text symbol, const char *template_name, size_t i) {
    size_t n = strlen(template_name);
    for (const char *at = find(symbol, template_name); at != NULL;) {
        tide_vc_text rest = {at + n, symbol.n - (size_t)(at + n - symbol.at)};
        if (rest.n > 0 && rest.at[0] == '<') {
            return tide_vc_symbol_part((tide_vc_text){rest.at + 1, rest.n - 1}, i);
        }
        at = find(rest, template_name);
    }
    return (tide_vc_text){NULL, 0};
}

/* After the bracket that closes the text's first character; NULL if none does. */
static const char *behind_bracket(tide_vc_text text) {
    int depth = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        depth += c == '<' || c == '(' || c == '{';
        depth -= c == '>' || c == ')' || c == '}';
        if (depth == 0) {
            return text.at + i + 1;
        }
    }
    return NULL;
}

tide_vc_text tide_vc_symbol_parameters(tide_vc_text symbol, const char *function) {
    const char *end = symbol.at + symbol.n;
    const char *at = find(symbol, function);
    while (at != NULL) {
        const char *from = at + strlen(function);
        tide_vc_text rest = {from, (size_t)(end - from)};
        if (tide_vc_text_begins(rest, "<")) {
            from = behind_bracket(rest);
        }
        const char *to = from != NULL && from < end && *from == '('
                             ? behind_bracket((tide_vc_text){from, (size_t)(end - from)})
                             : NULL;
        if (to != NULL) {
            return trimmed(from + 1, to - 1);
        }
        at = find(rest, function);
    }
    return (tide_vc_text){NULL, 0};
}

uint32_t tide_vc_text_number(tide_vc_text text) {
    uint32_t number = 0;
    for (size_t i = 0; i < text.n && text.at[i] >= '0' && text.at[i] <= '9'; i++) {
        number = 10 * number + (uint32_t)(text.at[i] - '0');
    }
    return number;
}

uint32_t tide_vc_type_bytes(tide_vc_text type) {
    static const struct {
        const char *name;
        uint32_t n_bytes;
    } TYPES[] = {{"bool", 1},
                 {"signed char", 1},
                 {"unsigned char", 1},
                 {"char", 1},
                 {"short", 2},
                 {"unsigned short", 2},
                 {"int", 4},
                 {"unsigned int", 4},
                 {"long", 8},
                 {"unsigned long", 8},
                 {"long long", 8},
                 {"unsigned long long", 8},
                 {"float", 4},
                 {"double", 8},
                 {"c10::Half", 2},
                 {"c10::BFloat16", 2},
                 {"__half", 2},
                 {"__nv_bfloat16", 2},
                 {"c10::Float8_e4m3fn", 1},
                 {"c10::Float8_e5m2", 1},
                 {"c10::Float8_e4m3fnuz", 1},
                 {"c10::Float8_e5m2fnuz", 1},
                 {"c10::Float8_e8m0fnu", 1},
                 {"c10::Float4_e2m1fn_x2", 1},
                 {"c10::quint8", 1},
                 {"c10::qint8", 1},
                 {"c10::qint32", 4},
                 {"c10::bits1x8", 1},
                 {"c10::bits2x4", 1},
                 {"c10::bits4x2", 1},
                 {"c10::bits8", 1},
                 {"c10::bits16", 2},
                 {"c10::complex<c10::Half>", 4},
                 {"c10::complex<c10::BFloat16>", 4},
                 {"c10::complex<float>", 8},
                 {"c10::complex<double>", 16}};
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (type.n == strlen(TYPES[i].name) && memcmp(type.at, TYPES[i].name, type.n) == 0) {
            return TYPES[i].n_bytes;
        }
    }
    tide_vc_text opaque = tide_vc_symbol_argument(type, "OpaqueType", 0);
    return tide_vc_text_number(opaque);
}
