# --help wins over everything else on the line.
tidemark profile --nonsense --help
