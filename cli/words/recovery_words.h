/* recovery_words.h - prints on stderr the parts of a log that could not be read. */
#ifndef TIDE_CLI_RECOVERY_WORDS_H
#define TIDE_CLI_RECOVERY_WORDS_H

#include "capture/recover.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line for each kind of loss; none if nothing was lost. */
void tide_cli_tell_recovery(const char *command, const tide_recover_report *report);

#ifdef __cplusplus
}
#endif

#endif
