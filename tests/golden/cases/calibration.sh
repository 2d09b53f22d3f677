# What a forecast says of calibrations, made ones: none, this machine's, another machine's, and files that are refused.
export XDG_CONFIG_HOME=$PWD/config
mkdir -p config/tidemark
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
python3 - <<'PYTHON'
import struct

texts = ["step begins", "kernel", "step ends"]
rows = []


def add(kind, us, name, n_bytes=0, family=0):
    rows.append(struct.pack("<qQQQ6IH6B", 1000 * us, 0, n_bytes, 0, 0, 0, 0, 0, name, 0, 0, kind, family, 0, 0, 0, 0))


for number, text in enumerate(texts):
    rows.append(struct.pack("<qQQQ6IH6B", 0, 0, len(text), 0, 0, 0, 0, 0, number, 0, 0, 1, 0, 0, 0, 0, 0))
    rows.append(text.encode().ljust(64, b"\0"))
add(15, 0, 0)
add(2, 100, 1, 10**9, 1)
add(15, 200, 2)
header = struct.pack("<QII48s", 0x3175616C65646974, 64, 64, b"h100-80")
open("made.launches", "wb").write(header + b"".join(rows))
PYTHON

made() { # CPU FORWARD_US BACKWARD_US [GPU]
    printf '{"format": "tidemark calibration", "version": 1, "made": "2026-11-27", "cpu": "%s", "torch": "2.14.1",
        "host": {"forward_us": %s, "backward_us": %s}%s}\n' "$@"
}
gpu=', "gpu": {"name": "NVIDIA H100 80GB HBM3", "forward_us": 5, "backward_us": 6,
    "products": {"rows": 8192, "fp32_us": 25000, "bf16_us": 1700},
    "copies": {"contiguous": {"bytes": 2e9, "elements": 2.5e8, "us": 800},
               "strided": {"bytes": 1e9, "elements": 1.25e8, "us": 500}}}'
say() { # [OPTION...]
    echo "-- $*"
    tidemark time made.launches --kernels 0 "$@" 2>&1 | sed "s|$PWD|.|g; s|($cpu|(THIS PROCESSOR|g" | grep -v 'launches 0 are guessed'
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
