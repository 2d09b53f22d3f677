/* recorder_text.c - the recorder's strings, for messages. */
#include "allocator/recorder_internal.h"
#include "allocator/recorder_state_internal.h"

const char *tide_recorder_text(tide_recorder *recorder, uint32_t number) {
    if (recorder == NULL || number == TIDE_NONE) {
        return NULL;
    }
    pthread_mutex_lock(&recorder->strings_lock);
    const char *text = tide_strings_text(&recorder->strings, number);
    pthread_mutex_unlock(&recorder->strings_lock);
    return text;
}
