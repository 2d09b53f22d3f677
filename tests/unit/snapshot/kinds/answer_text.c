#include "answer_text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/text/text.h"
#include "support/snapshot_files.h"

void answer_text(const char *bytes, size_t n_bytes, char ret_text[ANSWER_BYTES]) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_file_answer answer;
    bool is_answered = false;
    tide_error error = {""};
    tide_text text = tide_text_in(ret_text, ANSWER_BYTES);
    snapshot_path(path, "held");
    snapshot_write_file(path, bytes, n_bytes);
    tide_file_answer_init(&answer, tide_hostmem_default());
    tide_status status = tide_file_answer_read(path, &answer, &is_answered, &error);
    if (status != TIDE_OK) {
        tide_text_add(&text, "%s\n", error.message);
    } else if (!is_answered) {
        tide_text_add(&text, "not answered\n");
    }
    for (size_t i = 0; status == TIDE_OK && i < answer.n_sentences; i++) {
        tide_text_add(&text, "%s: %s\n", answer.sentences[i].key, answer.sentences[i].text);
    }
    for (size_t i = 0; status == TIDE_OK && i < answer.n_figures; i++) {
        tide_text_add(&text, "%s=%" PRId64 "\n", answer.figures[i].key, answer.figures[i].value);
    }
    tide_file_answer_fini(&answer);
    snapshot_remove(path);
}

void answer_expect(const char *text, const char *const *expected, const char *const *forbidden) {
    char found[ANSWER_BYTES];
    answer_text(text, strlen(text), found);
    for (; *expected != NULL; expected++) {
        if (strstr(found, *expected) == NULL) {
            fail_msg("no \"%s\" in the answer to\n%s\n%s", *expected, text, found);
        }
    }
    for (; *forbidden != NULL; forbidden++) {
        if (strstr(found, *forbidden) != NULL) {
            fail_msg("\"%s\" is in the answer to\n%s\n%s", *forbidden, text, found);
        }
    }
}
