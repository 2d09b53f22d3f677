/* setting.h - what the environment said when the process was started.
 *
 * For libraries that are preloaded: a program may empty its environment before they look.
 */
#ifndef TIDE_COMMON_SETTING_H
#define TIDE_COMMON_SETTING_H

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a variable TIDEMARK_...: the one that it has now, or else the one that it had when
 * the library was loaded; NULL: neither. Not changed, not released. */
const char *tide_setting(const char *name);

#ifdef __cplusplus
}
#endif

#endif
