# What a forecast says of calibrations, made ones: none, this machine's, another machine's, and files that are refused.
export XDG_CONFIG_HOME=$PWD/config
mkdir -p config/tidemark
python3 "$golden/launches/make_launches.py" made.launches one 1000000000
. "$golden/../support/made_calibration.sh"
say() { # [OPTION...]
    echo "-- $*"
    tidemark time made.launches --kernels 0 "$@" 2>&1 | sed "s|$PWD|.|g; s|($cpu|(THIS PROCESSOR|g" | grep -vE 'launch(es)? 0 are guessed'
}

made there 9 11 "$gpu" >there.json
say
say --host there.json
made "another processor" 11 13 "" >config/tidemark/calibration.json
say
made "$cpu" 11 13 "" >config/tidemark/calibration.json
say
say --host there.json
say --host there.json --cards a100-80
say --host config/tidemark/calibration.json
say --host-factor 0.3
say --host there.json --host-factor 0.3
say --host absent.json
made there -1 11 "$gpu" >bad.json
say --host bad.json
made there 9 11 "${gpu/\"us\": 500/\"us\": \"fast\"}" >bad.json
say --host bad.json
echo '{"format": "something"}' >config/tidemark/calibration.json
say
tidemark bench copy --python python3
tidemark bench calibrate --rounds 3
