/* The settings of PyTorch's allocator, from the environment of a live recording. */
#include <string.h>

#include "capture/capture_internal.h"
#include "capture/live_internal.h"

enum { SETTING_BYTES = 512 };

/* The text is for PyTorch, which has settings that our cache refuses: each is applied
 * separately. */
static void read_settings(tide_cache_config *config, const char *text) {
    tide_error ignored;
    while (text != NULL && *text != '\0') {
        char one[SETTING_BYTES];
        size_t n = 0;
        int depth = 0;
        for (; text[n] != '\0' && (text[n] != ',' || depth > 0); n++) {
            depth += (text[n] == '[') - (text[n] == ']');
        }
        if (n < sizeof(one)) {
            memcpy(one, text, n);
            one[n] = '\0';
            if (tide_cache_config_parse(config, one, &ignored) != TIDE_OK) {
                one[0] = '\0'; /* it is none of the cache */
            }
        }
        text += n + (text[n] == ',');
    }
}

bool tide_live_read_settings(const tide_log_tables *tables, tide_cache_config *ret_config) {
    /* PyTorch reads the second for CUDA only if the first is not set, as the launcher of programs
     * knows, too. */
    const char *text = tide_log_text_of(tables, "environment.PYTORCH_CUDA_ALLOC_CONF");
    text = text != NULL ? text : tide_log_text_of(tables, "environment.PYTORCH_ALLOC_CONF");
    tide_cache_config_init(ret_config);
    read_settings(ret_config, text);
    return text != NULL && text[0] != '\0';
}

tide_status tide_live_set_settings(const tide_log_tables *tables, tide_snapshot *snapshot) {
    tide_cache_config config;
    return tide_live_read_settings(tables, &config) ? tide_capture_settings(&config, snapshot)
                                                    : TIDE_OK;
}
