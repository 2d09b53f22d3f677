# --help takes precedence over everything else on the command line.
tidemark profile --nonsense --help
