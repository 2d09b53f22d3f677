# The commands, and nothing that is not there.
tidemark --help
