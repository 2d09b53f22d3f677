# Each mode writes one snapshot, named after the run.
tidemark profile --device virtual --layers 2 --mode forward,train --attention flash,naive --recompute none,block --steps 1 --warmup 0 -o runs | sed "/peak/d"
ls runs
