/* setting.h - settings from the environment with which the process was started.
 *
 * For preloaded libraries: a program may empty its environment before they read it.
 */
#ifndef TIDE_COMMON_SETTING_H
#define TIDE_COMMON_SETTING_H

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a variable TIDEMARK_...: the current one, or else the one at the time the library
 * was loaded; NULL: neither. The caller must not change or release it. */
const char *tide_setting(const char *name);

#ifdef __cplusplus
}
#endif

#endif
