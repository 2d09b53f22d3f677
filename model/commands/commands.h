/* commands.h - the commands of our own model, and its parts of fit and sweep. */
#ifndef TIDE_MODEL_COMMANDS_COMMANDS_H
#define TIDE_MODEL_COMMANDS_COMMANDS_H

#include "cli/cli.h"
#include "cli/fit/options.h"
#include "cli/sweep/options.h"

extern const tide_command tide_command_profile;
extern const tide_command tide_command_forecast;
extern const tide_command tide_command_study;
extern const tide_command tide_command_bench;
extern const tide_command tide_command_check_reference;

/* For tide_own_model (cli/own_model.h), whose members of these names say what they do. */
extern const tide_option_table tide_model_fit_table, tide_model_sweep_table;
int tide_model_fit(tide_fit_options *options, const tide_operands *operands);
tide_status tide_model_sweep_header(const tide_sweep_options *options, const char *device,
                                    size_t shard, size_t n_shards, cJSON **ret_header,
                                    tide_error *error);

#endif
