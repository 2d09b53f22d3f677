/* tidemark mcp: starts the server for agents, which is a part of the Python package. */
#define _POSIX_C_SOURCE 200809L /* readlink, setenv */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "programs/launch/launch.h"

enum { MAX_PATHS = 2 * TIDE_LAUNCH_PATH_BYTES };

static const tide_option_table TABLE = {
    .command = "mcp",
    .intro = "Serves agents over stdin and stdout by the Model Context Protocol: the tools run,\n"
             "explain, compare, plan and fit answer with sentences, figures and paths of files.\n"
             "It needs python3 with the package mcp (pip install mcp).\n",
    .notes = "docs/guide/agents.md shows how to name it to an agent.\n",
};

/* The folder of the package comes first in PYTHONPATH, and the server calls this program. */
static tide_status set_paths(tide_error *error) {
    char folder[TIDE_LAUNCH_PATH_BYTES], program[TIDE_LAUNCH_PATH_BYTES], paths[MAX_PATHS];
    TIDE_TRY(tide_launch_find_python(folder, error));
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (n < 0) {
        return tide_fail(error, TIDE_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    }
    program[n] = '\0';
    const char *given = getenv("PYTHONPATH");
    bool has_paths = given != NULL && given[0] != '\0';
    int n_written = snprintf(paths, sizeof(paths), "%s%s%s", folder, has_paths ? ":" : "",
                             has_paths ? given : "");
    if (n_written < 0 || (size_t)n_written >= sizeof(paths)) {
        return tide_fail(error, TIDE_LIMIT, "PYTHONPATH is too long");
    }
    if (setenv("PYTHONPATH", paths, 1) != 0 || setenv("TIDEMARK_MCP_PROGRAM", program, 1) != 0) {
        return tide_fail(error, TIDE_NO_MEMORY, "cannot set PYTHONPATH: %s", strerror(errno));
    }
    return TIDE_OK;
}

static int run(int argc, char **argv) {
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, NULL, NULL, &exit_status)) {
        return exit_status;
    }
    tide_status status = set_paths(&error);
    if (status != TIDE_OK) {
        return tide_cli_fail("mcp", status, &error);
    }
    (void)execlp("python3", "python3", "-m", "tidemark.mcp", (char *)NULL);
    return tide_cli_fail(
        "mcp", tide_fail(&error, TIDE_UNSUPPORTED, "cannot start python3: %s", strerror(errno)),
        &error);
}

const tide_command tide_command_mcp = {
    .name = "mcp",
    .summary = "a server whose tools agents call: run, explain, compare, plan, fit",
    .options = &TABLE,
    .run = run,
};
