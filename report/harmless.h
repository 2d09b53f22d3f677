/* harmless.h - text from a file that nobody checked, on its way to a terminal.
 *
 * A terminal obeys control characters (C0 such as ESC, DEL, C1), and bidirectional controls of
 * Unicode let text read otherwise than it is. Neither may reach it from a name in a file.
 */
#ifndef TIDE_REPORT_HARMLESS_H
#define TIDE_REPORT_HARMLESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the character at the text's beginning where a terminal would obey it, else 0. */
size_t tide_control_bytes(const char *text);

/* Writes a message. In it every such character is "\u001b", and a byte that is no UTF-8 "\xff", on
 * a terminal and elsewhere, because logs are read in terminals. Tabs are kept, and line feeds at
 * the message's end and before two blanks, which is how a message of several lines continues: other
 * line feeds are those of a name. */
void tide_harmless_print(FILE *out, const char *message);

/* The text with "?" for each such character, and for each byte that is no UTF-8: at most n_room - 1
 * bytes. */
void tide_text_harmless(const char *text, char *ret_text, size_t n_room);

/* A stream that may be a terminal: there such characters, line feeds and tabs excepted, become
 * "\u001b". Anywhere else every byte is written as it is. */
typedef struct tide_harmless {
    FILE *out;        /* borrowed */
    bool is_terminal; /* out is one */
    char held[4];     /* what may become such a character with the bytes that follow; ends in NUL */
    size_t n_held;
} tide_harmless;

void tide_harmless_begin(tide_harmless *to, FILE *out);
/* A character may be split between two calls. Errors are the caller's to find in the stream. */
void tide_harmless_write(tide_harmless *to, const char *bytes, size_t n_bytes);
/* Writes what is held. */
void tide_harmless_end(tide_harmless *to);

#ifdef __cplusplus
}
#endif

#endif
