/* harmless.h - printing text from unchecked files to a terminal.
 *
 * A terminal obeys control characters (C0 such as ESC, DEL, C1), and Unicode's bidirectional
 * controls make text look different from what it is. Neither may reach the terminal from a name in
 * a file.
 */
#ifndef TIDE_REPORT_HARMLESS_H
#define TIDE_REPORT_HARMLESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the character at the beginning of the text if a terminal would obey it, else 0. */
size_t tide_control_bytes(const char *text);

/* Writes a message. Every such character is printed as "\u001b", and a byte that is not UTF-8 as
 * "\xff", on a terminal and elsewhere, because logs are read in terminals. Tabs are kept, and so
 * are line feeds at the end of the message and before two blanks, which continue a message of
 * several lines: other line feeds come from a name. */
void tide_harmless_print(FILE *out, const char *message);

/* The text with "?" for each such character, and for each byte that is not UTF-8: at most n_room -
 * 1 bytes. */
void tide_text_harmless(const char *text, char *ret_text, size_t n_room);

/* A stream that may be a terminal. On a terminal, such characters except line feeds and tabs become
 * "\u001b"; anywhere else every byte is written unchanged. */
typedef struct tide_harmless {
    FILE *out;        /* borrowed */
    bool is_terminal; /* out is one */
    char held[4];     /* bytes that may form such a character with those that follow; ends in NUL */
    size_t n_held;
} tide_harmless;

void tide_harmless_begin(tide_harmless *to, FILE *out);
/* A character may be split between two calls. The caller checks the stream for errors. */
void tide_harmless_write(tide_harmless *to, const char *bytes, size_t n_bytes);
/* Writes the held bytes. */
void tide_harmless_end(tide_harmless *to);

#ifdef __cplusplus
}
#endif

#endif
