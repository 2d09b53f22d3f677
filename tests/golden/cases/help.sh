# The help lists the commands, and only those that exist.
tidemark --help
