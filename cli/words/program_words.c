#include "cli/words/program_words.h"

#include <string.h>

#include "programs/launch/launch.h"

tide_program_words tide_program_words_find(const tide_option_table *table, int argc, char **argv) {
    tide_program_words words = {.n_own = argc};
    int at = tide_options_program_at(table, argc, argv, &words.n_own);
    words.is_after_dashes = at > words.n_own;
    if (at < argc || words.is_after_dashes) {
        words.program = argv + at;
    }
    return words;
}

tide_status tide_program_words_interpret(tide_program_words *words, char **argv,
                                         tide_error *error) {
    char *interpreter = NULL;
    if (words->program == NULL || words->program[0] == NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_launch_find_interpreter(words->program[0], &interpreter, error));
    if (interpreter != NULL) {
        char **before = argv + (words->program - argv) - 1;
        *before = interpreter;
        words->program = before;
    }
    return TIDE_OK;
}

tide_status tide_program_words_check(const tide_program_words *words, const char *example,
                                     tide_error *error) {
    if (words->program == NULL || words->is_after_dashes ||
        tide_launch_is_program(words->program[0])) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_INVALID,
                     "'%.128s' is neither an option nor a program: options begin with --, and a "
                     "command of yours comes after them: %s",
                     words->program[0], example);
}
