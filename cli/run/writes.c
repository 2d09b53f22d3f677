/* writes.c - the handling of the files that the program wrote. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/text.h"
#include "programs/launch/trackers.h"
#include "programs/launch/writes/writes.h"

tide_status tide_run_settle_writes(const tide_run_answer *of, char *ret_text, size_t n_text,
                                   tide_error *error) {
    char folder[2 * TIDE_PATH_BYTES];
    char current[TIDE_PATH_BYTES];
    char sentence[TIDE_WRITES_TEXT_BYTES];
    char trackers[TIDE_TRACKERS_TEXT_BYTES];
    tide_writes writes;
    tide_text text = tide_text_in(ret_text, n_text);
    if (of->config->writes_are_real) {
        if (of->config->cards != NULL) {
            tide_text_add(&text, "its writes were real (--writes allow)");
        }
        return TIDE_OK;
    }
    (void)snprintf(folder, sizeof(folder), "%s/writes", of->launch->folder);
    if (getcwd(current, sizeof(current)) == NULL) {
        current[0] = '\0';
    }
    TIDE_TRY(tide_writes_count(folder, current, &writes, error));
    if (!writes.is_view) {
        tide_text_add(&text, "the program could not be kept from writing: what it wrote is real");
    } else if (tide_writes_sentence(&writes, of->options->keep_writes, sentence)[0] != '\0') {
        tide_text_add(&text, "%s", sentence);
    } else {
        tide_text_add(&text, "%s",
                      writes.n_unseen > 0 ? "writes are kept away"
                                          : "it wrote no file (writes are kept away)");
    }
    if (tide_writes_unseen(&writes, sentence)[0] != '\0') {
        tide_text_add(&text, "; %s", sentence);
    }
    if (of->launch->is_noexec && (of->launch->exit_status != 0)) {
        tide_text_add(&text,
                      "; programs and libraries that it made could not be loaded, because their "
                      "folder is mounted noexec: name another with TMPDIR");
    }
    if (of->launch->exit_status != 0 && strstr(writes.unseen, "/wandb-core is ") != NULL) {
        tide_text_add(&text, "; wandb's own process cannot see files that are kept away: "
                             "--log-to wandb disables wandb in the program, and --writes allow "
                             "lets it write");
    }
    if (tide_launch_trackers_replaced(trackers)[0] != '\0') {
        tide_text_add(&text, "; %s", trackers);
    }
    return of->options->keep_writes == NULL
               ? TIDE_OK
               : tide_writes_keep(folder, current, of->options->keep_writes, error);
}

void tide_run_tell_writes(const tide_run_answer *of) {
    if (of->kept_away[0] != '\0') {
        tide_cli_note(TIDE_COMMAND_RUN, "%s", of->kept_away);
    }
}
