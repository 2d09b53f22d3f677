/* Makes a digest smaller: its figures stay, its details become fewer. */
#include "snapshot/ranks/digest.h"

enum { FEWEST = 4 }; /* rows, steps or points that are left in any case */

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void halve_rows(tide_digest_device *device) {
    size_t n = device->n_rows / 2;
    for (size_t i = n; i < device->n_rows; i++) {
        device->rest.bytes += device->rows[i].bytes;
        device->rest.n_blocks += device->rows[i].n_blocks;
        device->rest.n_rows++;
    }
    device->n_rows = n;
}

static void halve_steps(tide_digest_device *device) {
    tide_digest_step *rows = device->steps;
    size_t n = 0;
    for (size_t i = 0; i < device->n_steps; i += 2, n++) {
        tide_digest_step row = rows[i];
        if (i + 1 < device->n_steps) {
            const tide_digest_step *next = &rows[i + 1];
            row.n_steps += next->n_steps;
            row.end_ns = most(row.end_ns, next->end_ns);
            row.allocated_peak_bytes = most(row.allocated_peak_bytes, next->allocated_peak_bytes);
            row.reserved_peak_bytes = most(row.reserved_peak_bytes, next->reserved_peak_bytes);
            row.end_bytes = next->end_bytes;
        }
        rows[n] = row;
    }
    device->n_steps = n;
}

static void halve_points(tide_digest_device *device) {
    tide_digest_point *points = device->points;
    size_t n = 0;
    for (size_t i = 0; i < device->n_points; i += 2, n++) {
        tide_digest_point point = points[i];
        if (i + 1 < device->n_points) {
            const tide_digest_point *next = &points[i + 1];
            point = (tide_digest_point){next->time_ns,
                                        most(point.allocated_bytes, next->allocated_bytes),
                                        most(point.reserved_bytes, next->reserved_bytes)};
        }
        points[n] = point;
    }
    device->n_points = n;
}

bool tide_digest_shrink(tide_digest *digest) {
    bool is_less = false;
    for (size_t i = 0; i < digest->n_devices; i++) {
        tide_digest_device *device = &digest->devices[i];
        size_t largest = device->n_rows > device->n_steps ? device->n_rows : device->n_steps;
        largest = device->n_points > largest ? device->n_points : largest;
        if (largest <= FEWEST) {
            continue;
        }
        is_less = true;
        if (device->n_points == largest) {
            halve_points(device);
        } else if (device->n_steps == largest) {
            halve_steps(device);
        } else {
            halve_rows(device);
        }
    }
    if (!is_less && (digest->n_inexact > FEWEST || digest->n_settings > FEWEST ||
                     digest->n_owners > FEWEST || digest->rank.n_groups > FEWEST)) {
        digest->n_inexact /= digest->n_inexact > FEWEST ? 2 : 1;
        digest->n_settings /= digest->n_settings > FEWEST ? 2 : 1;
        digest->n_owners /= digest->n_owners > FEWEST ? 2 : 1;
        digest->rank.n_groups /= digest->rank.n_groups > FEWEST ? 2 : 1;
        is_less = true;
    }
    for (size_t i = 0; i < digest->n_devices && !is_less; i++) {
        is_less = digest->devices[i].explained.is_known;
        digest->devices[i].explained =
            (tide_digest_explained){.failure = {.event = -1, .line = ""}};
    }
    return is_less;
}
