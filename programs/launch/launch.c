#include "programs/launch/launch.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "programs/launch/compilers.h"
#include "programs/launch/devices/devices.h"
#include "programs/launch/launch_internal.h"
#include "programs/launch/logs/logs.h"
#include "programs/launch/together/together.h"

#define USUAL_LOG_BYTES (UINT64_C(256) << 20)
#define LEAST_FILE_BYTES (UINT64_C(2) << 20) /* the run's account has a little more than 1 MiB */

void tide_launch_config_init(tide_launch_config *config) {
    *config = (tide_launch_config){.cards = "h100-80",
                                   .values = "auto",
                                   .streams = "now",
                                   .nccl_bytes = TIDE_LAUNCH_NCCL_MODEL,
                                   .stacks = "python",
                                   .names = "kept",
                                   .full = "keep-newest"};
}

tide_status tide_launch_check(const tide_launch_config *config, tide_error *error) {
    tide_launch_program program;
    char own[2 * TIDE_LAUNCH_PATH_BYTES];
    return tide_launch_find_program(tide_launch_command(config, own), &program, error);
}

/* `interpreter`: the program that runs `path` if that is a script; otherwise the same. */
static tide_status start(const char *path, const char *interpreter,
                         const tide_launch_config *config, tide_launch *launch, tide_error *error) {
    char **environment = tide_launch_environment(launch, config);
    if (environment == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY,
                         "the host has no memory left for the program's environment");
    }
    tide_status status = tide_launch_prove(launch, config, interpreter, environment, error);
    if (status == TIDE_OK) {
        status = tide_launch_child(path, environment, config, launch, error);
    }
    tide_launch_environment_release(environment);
    return status;
}

/* The view of files replaces functions of the C library, which Go programs do not call. */
static tide_status check_go(const tide_launch_program *program, const tide_launch_config *config,
                            tide_error *error) {
    return config->writes_are_real || !tide_launch_is_go(program->interpreter)
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "%s is a Go program: it makes its own system calls, and its writes "
                           "cannot be kept away from your files; --writes allow runs it with real "
                           "writes",
                           program->interpreter);
}

static tide_status run_together(const tide_launch_program *program,
                                const tide_launch_config *config, tide_launch *launch,
                                tide_error *error) {
    tide_launch_together_command command = {.arguments = NULL};
    tide_launch_config other = *config;
    TIDE_ASSERT(config->world == 0);
    tide_status status = tide_launch_together(config, launch, &command, error);
    if (status == TIDE_OK) {
        other.arguments = command.arguments;
        status = start(program->path, program->interpreter, &other, launch, error);
    }
    tide_launch_together_fini(&command);
    return status;
}

static tide_status run(const tide_launch_program *program, const tide_launch_config *config,
                       tide_launch *launch, tide_error *error) {
    tide_launch_world_command command = {.arguments = NULL};
    tide_launch_config other = *config;
    if (config->sets != NULL) {
        return run_together(program, config, launch, error);
    }
    if (config->world == 0) {
        return start(program->path, program->interpreter, config, launch, error);
    }
    TIDE_TRY(tide_launch_world(config, launch, program, &command, error));
    other.arguments = command.arguments;
    tide_status status = start(command.path, command.path, &other, launch, error);
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, command.arguments);
    return status;
}

/* If the log exceeded the limit of file sizes, the program would run unrecorded. Without room for
 * the run's account (programs/wire/run_account.h), its processes would not see each other's memory.
 */
static tide_status choose_log_bytes(const tide_launch *launch, tide_launch_config *config,
                                    tide_error *error) {
    uint64_t wanted = config->log_bytes > 0 ? config->log_bytes : USUAL_LOG_BYTES;
    uint64_t least = config->log_bytes > LEAST_FILE_BYTES ? config->log_bytes : LEAST_FILE_BYTES;
    struct rlimit limit;
    char need[TIDE_BYTES_TEXT];
    char most[TIDE_BYTES_TEXT];
    if (config->method == TIDE_LAUNCH_HISTORY || !tide_launch_has_live(launch) ||
        getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= wanted) {
        return TIDE_OK;
    }
    if (limit.rlim_cur < least) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "the program was not started, because files may have %s here (ulimit -f), "
                         "and its log needs %s: allow larger files%s",
                         tide_bytes_format((int64_t)limit.rlim_cur, most),
                         tide_bytes_format((int64_t)least, need),
                         least > LEAST_FILE_BYTES ? ", or make --log-bytes smaller" : "");
    }
    config->log_bytes = limit.rlim_cur;
    return TIDE_OK;
}

tide_status tide_launch_run(const tide_launch_config *wanted, tide_launch *ret_launch,
                            tide_error *error) {
    tide_launch_config chosen = *wanted;
    const tide_launch_config *config = &chosen;
    tide_launch_program program;
    char own[2 * TIDE_LAUNCH_PATH_BYTES];
    *ret_launch = (tide_launch){
        .alive_fd = -1, .logs_fd = -1, .compilers_fd = -1, .cleaner = -1, .exit_status = -1};
    TIDE_TRY(tide_launch_find_program(tide_launch_command(config, own), &program, error));
    TIDE_TRY(check_go(&program, config, error));
    TIDE_TRY(tide_launch_find_objects(ret_launch, error));
    TIDE_TRY(tide_launch_check_scratch(ret_launch, config, error));
    TIDE_TRY(choose_log_bytes(ret_launch, &chosen, error));
    TIDE_TRY(tide_launch_make_folder(ret_launch, config->cards != NULL, error));
    if (config->cards != NULL) {
        TIDE_TRY(tide_launch_make_devices(ret_launch->folder, config->cards, error));
    }
    if (config->log == NULL && config->method != TIDE_LAUNCH_HISTORY &&
        tide_launch_has_live(ret_launch)) {
        /* If no private folder survives a kill, fall back to the run's folder.
         */
        if (tide_logs_make(ret_launch->logs, NULL) != TIDE_OK) {
            memcpy(ret_launch->logs, ret_launch->folder, sizeof(ret_launch->logs));
        } else {
            tide_logs_own(ret_launch->logs, config->arguments, &ret_launch->logs_fd);
        }
    }
    tide_compilers_open(config, program.interpreter, ret_launch);
    return run(&program, config, ret_launch, error);
}

void tide_launch_close(tide_launch *launch) {
    tide_launch_remove_folder(launch);
    if (!launch->keeps_logs) {
        tide_logs_remove(launch->logs);
    }
    if (launch->logs[0] != '\0' && launch->logs_fd >= 0) {
        (void)close(launch->logs_fd);
    }
    launch->logs[0] = '\0';
    if (launch->compilers[0] != '\0' && launch->compilers_fd >= 0) {
        (void)close(launch->compilers_fd);
    }
    launch->compilers[0] = '\0';
}
