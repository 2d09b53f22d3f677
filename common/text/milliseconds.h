/* milliseconds.h - times for people: three digits, in milliseconds. */
#ifndef TIDE_COMMON_MILLISECONDS_H
#define TIDE_COMMON_MILLISECONDS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MS_TEXT = 32 }; /* room for any text of tide_ms_format */

/* "0.482", "4.82", "48.2", "482", without the unit. Below 1 ms there are three decimals. Returns
 * `text`. */
char *tide_ms_format(double ms, char text[TIDE_MS_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
