/* The part of a model that a name or a scope belongs to. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "snapshot/compare/compare_rows.h"

static const char *const NAMES[TIDE_N_LAYER_KINDS] = {"attn",      "mlp",     "norm",
                                                      "embedding", "lm_head", "other"};

/* The sign of each kind. Norms first: "attn_norm" is a norm. */
static const struct {
    tide_layer_kind kind;
    bool anywhere; /* in the word; else at its start, without a letter after it */
    const char *text;
} SIGNS[] = {
    {TIDE_LAYER_NORM, true, "norm"},        {TIDE_LAYER_NORM, false, "ln"},
    {TIDE_LAYER_ATTENTION, true, "attn"},   {TIDE_LAYER_ATTENTION, true, "attention"},
    {TIDE_LAYER_MLP, true, "ffn"},          {TIDE_LAYER_MLP, true, "mlp"},
    {TIDE_LAYER_MLP, true, "feed_forward"}, {TIDE_LAYER_MLP, true, "feedforward"},
    {TIDE_LAYER_EMBEDDING, true, "embed"},  {TIDE_LAYER_EMBEDDING, false, "wte"},
    {TIDE_LAYER_EMBEDDING, false, "wpe"},   {TIDE_LAYER_LM_HEAD, true, "lm_head"},
    {TIDE_LAYER_LM_HEAD, false, "logits"},
};

const char *tide_layer_kind_name(int kind) {
    return kind >= 0 && kind < TIDE_N_LAYER_KINDS ? NAMES[kind] : "?";
}

static bool matches(const char *at, const char *text) {
    while (*text != '\0' && tolower((unsigned char)*at) == *text) {
        at++;
        text++;
    }
    return *text == '\0';
}

static bool holds(const char *word, size_t n_word, const char *text, bool anywhere) {
    size_t n_text = strlen(text);
    for (size_t i = 0; i + n_text <= n_word && (anywhere || i == 0); i++) {
        if (matches(word + i, text)) {
            return anywhere || i + n_text == n_word || !isalpha((unsigned char)word[i + n_text]);
        }
    }
    return false;
}

static tide_layer_kind kind_of_word(const char *word, size_t n_word) {
    for (size_t i = 0; i < sizeof(SIGNS) / sizeof(SIGNS[0]); i++) {
        if (holds(word, n_word, SIGNS[i].text, SIGNS[i].anywhere)) {
            return SIGNS[i].kind;
        }
    }
    return TIDE_LAYER_OTHER;
}

tide_layer_kind tide_layer_kind_of(const char *name, const char *scope_path) {
    for (const char *at = name; *at != '\0';) {
        size_t n_word = strcspn(at, ".");
        tide_layer_kind kind = kind_of_word(at, n_word);
        if (kind != TIDE_LAYER_OTHER) {
            return kind;
        }
        at += n_word + (at[n_word] == '.');
    }
    tide_layer_kind innermost = TIDE_LAYER_OTHER;
    for (const char *at = scope_path; *at != '\0';) {
        size_t n_word = strcspn(at, ">");
        const char *word = at + strspn(at, " ");
        size_t n_blank = (size_t)(word - at);
        tide_layer_kind kind =
            n_blank < n_word ? kind_of_word(word, n_word - n_blank) : TIDE_LAYER_OTHER;
        innermost = kind != TIDE_LAYER_OTHER ? kind : innermost;
        at += n_word + (at[n_word] == '>');
    }
    return innermost;
}
