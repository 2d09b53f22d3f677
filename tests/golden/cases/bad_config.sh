# The program checks a configuration file by the same rules as the command line.
try() { printf '%s' "$1" >model.json; tidemark profile --device virtual --config model.json; echo "exit $?" >&2; }
tidemark profile --config missing.json; echo "exit $?" >&2
try '{"d_model": 512, "widht": 3}'
try '{"d_model": "wide"}'
try '{"d_model": -4}'
try '{"size": "smal"}'
try '[1, 2]'
try '{"d_model": 512,'
try '{"d_model": 100, "n_heads": 3}'
try '{"n_heads": 4, "n_heads": 8}'
try '{"n_heads": 4} and more'
ls
