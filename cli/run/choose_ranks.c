/* Chooses the ranks of a larger world that run: those that the user names, or those that can differ
 * according to the process groups of rank 0. */
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/plural.h"
#include "programs/launch/roles.h"

enum { LINE_BYTES = 1024 };

#define AUTO "auto"

tide_status tide_run_check_ranks(const tide_run_command_options *options, char *const *arguments,
                                 tide_error *error) {
    if (options->world == 0) {
        return options->ranks == NULL
                   ? TIDE_OK
                   : tide_fail(error, TIDE_INVALID,
                               "--ranks names ranks of a larger job: say how many it has with "
                               "--world N");
    }
    if (options->device == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "--world is for virtual cards: add --device virtual:CARDxN, the cards of "
                         "one node");
    }
    if (options->ranks == NULL) {
        return tide_fail(error, TIDE_INVALID,
                         "--world needs the ranks that shall run: --ranks 0,7 or --ranks auto");
    }
    if (options->world > TIDE_RANKS_MAX_WORLD) {
        return tide_fail(error, TIDE_INVALID, "--world: more than %d ranks are not served",
                         (int)TIDE_RANKS_MAX_WORLD);
    }
    return tide_launch_check_world(arguments, error);
}

static void tell_choice(const tide_roles *roles, int64_t world) {
    char line[LINE_BYTES];
    tide_text text = tide_text_in(line, sizeof(line));
    for (size_t i = 0; i < roles->n; i++) {
        tide_text_add_item(&text, "; ", "%lld (%s)", (long long)roles->roles[i].rank,
                           roles->roles[i].why);
    }
    tide_cli_note(TIDE_COMMAND_RUN,
                  "rank 0 ran first; by its process groups these ranks can differ, and run now: "
                  "%s. This is a choice, and no proof that the other %lld are like them",
                  line, (long long)world - (long long)roles->n);
    if (roles->n_left_out > 0) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "%zu more %s of large groups %s left out: --ranks names them",
                      roles->n_left_out, tide_plural(roles->n_left_out, "member", "members"),
                      tide_plural(roles->n_left_out, "is", "are"));
    }
    if (roles->n_irregular > 0) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "%zu %s whose members are not evenly spaced: no rank was chosen by %s",
                      roles->n_irregular,
                      tide_plural(roles->n_irregular, "group has rank 0", "groups have rank 0"),
                      tide_plural(roles->n_irregular, "it", "them"));
    }
}

static tide_status choose(const tide_launch *launch, int64_t world, tide_ranks *ret,
                          tide_error *error) {
    tide_left_list list;
    tide_roles roles;
    tide_status status = tide_left_read(launch, &list, error);
    if (status == TIDE_OK) {
        bool is_known = list.n_processes > 0;
        tide_roles_choose(is_known ? list.processes[0].groups : NULL,
                          is_known ? list.processes[0].n_groups : 0, world, &roles);
        for (size_t i = 0; i < roles.n; i++) {
            (void)tide_ranks_add(ret, roles.roles[i].rank); /* there is room for all roles */
        }
        tell_choice(&roles, world);
    }
    tide_left_fini(&list);
    return status;
}

/* Rank 0 repeats the output of this run when it runs with the others. */
static tide_status run_first(tide_launch_config config, tide_ranks *ret, tide_error *error) {
    tide_launch launch;
    const tide_ranks first = {.ranks = {0}, .n = 1};
    config.ranks = &first;
    config.output = "/dev/null";
    config.watch = NULL;
    config.asked_by = 0;
    config.tells_failures = false;
    tide_status status = tide_launch_run(&config, &launch, error);
    if (status == TIDE_OK) {
        status = choose(&launch, config.world, ret, error);
    }
    tide_launch_close(&launch);
    return status;
}

tide_status tide_run_find_ranks(const tide_run_command_options *options,
                                const tide_launch_config *config, tide_ranks *ret,
                                tide_error *error) {
    *ret = (tide_ranks){.n = 0};
    return strcmp(options->ranks, AUTO) == 0
               ? run_first(*config, ret, error)
               : tide_ranks_parse(options->ranks, config->world, ret, error);
}
