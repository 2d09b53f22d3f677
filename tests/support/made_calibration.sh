# Calibrations made by hand (docs/guide/virtual-time.md), for tests that source this.
made() { # CPU FORWARD_US BACKWARD_US [GPU]
    printf '{"format": "tidemark calibration", "version": 1, "made": "2026-11-27", "cpu": "%s", "torch": "2.14.1",
        "host": {"forward_us": %s, "backward_us": %s}%s}\n' "$@"
}
gpu=', "gpu": {"name": "NVIDIA H100 80GB HBM3", "forward_us": 5, "backward_us": 6,
    "products": {"rows": 8192, "fp32_us": 25000, "bf16_us": 1700},
    "copies": {"contiguous": {"bytes": 2e9, "elements": 2.5e8, "us": 800},
               "strided": {"bytes": 1e9, "elements": 1.25e8, "us": 500}}}'
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
