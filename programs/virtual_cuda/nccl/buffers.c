#include "programs/virtual_cuda/nccl/buffers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MIB ((uint64_t)1 << 20)
/* CUDA's granularity of virtual memory, and CUDA_IPC_MIN of comm.h. */
#define GRAIN (2 * MIB)
/* ncclSendMem and ncclRecvMem of comm.h: counters in front of the buffers of a connection. */
#define COUNTER_BYTES UINT64_C(4096)

enum { MAX_CHANNELS = 64 }; /* MAXCHANNELS of device.h */
#define STEPS UINT64_C(8)   /* NCCL_STEPS */
/* Cards that are not connected by NVLink: one channel, which connect.cc doubles. */
enum { PCIE_CHANNELS = 2 };
/* Allocations for each channel (channel.cc), and for each communicator (devCommSetup of init.cc).
 */
enum { CHANNEL_ALLOCATIONS = 3, COMMUNICATOR_ALLOCATIONS = 2 };

/* The variables of NCCL that matter. */
typedef struct settings {
    uint64_t simple_bytes;          /* NCCL_BUFFSIZE: of a connection, for the protocol Simple */
    uint64_t others_bytes;          /* NCCL_LL_BUFFSIZE and NCCL_LL128_BUFFSIZE together */
    uint64_t multicast_chunk_bytes; /* NCCL_NVLS_CHUNKSIZE */
    int least_channels;             /* NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS */
    int most_channels;              /* NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS */
    int most_peer_channels;         /* NCCL_MAX_P2P_NCHANNELS */
    bool has_virtual_memory;        /* NCCL_CUMEM_ENABLE */
    bool connects_late;             /* NCCL_RUNTIME_CONNECT */
    bool has_peer_access;           /* NCCL_P2P_DISABLE, NCCL_P2P_LEVEL */
    bool has_multicast;             /* NCCL_NVLS_ENABLE, NCCL_ALGO */
    bool has_rings;                 /* NCCL_ALGO */
    bool has_trees;                 /* the same */
} settings;

/* As NCCL reads a number: any base; what is not one is ignored. */
static int64_t number(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    char *end = NULL;
    int64_t value = text != NULL && text[0] != '\0' ? strtoll(text, &end, 0) : otherwise;
    return end == text ? otherwise : value;
}

static uint64_t bytes_of(const char *name, uint64_t otherwise) {
    int64_t value = number(name, -1);
    return value >= 0 && value < INT32_MAX ? (uint64_t)value : otherwise;
}

static int clamp(int64_t value, int64_t least, int64_t most) {
    return (int)(value < least ? least : value > most ? most : value);
}

/* Whether NCCL_ALGO admits the algorithm: a list of names, or "^" and a list of those that are left
 * out. The longer forms of the list name functions, and are not read. */
static bool admits(const char *algorithm) {
    const char *list = getenv("NCCL_ALGO");
    if (list == NULL || list[0] == '\0' || strchr(list, ':') != NULL) {
        return true;
    }
    bool is_excluding = list[0] == '^';
    bool is_listed = false;
    size_t n = strlen(algorithm);
    for (const char *at = list + is_excluding; at != NULL && !is_listed;) {
        is_listed = strncasecmp(at, algorithm, n) == 0 && (at[n] == ',' || at[n] == '\0');
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return is_listed != is_excluding;
}

static settings read_settings(void) {
    const char *level = getenv("NCCL_P2P_LEVEL");
    settings read = {
        /* init.cc: 8 steps of 512 threads with 8 lines of 16 bytes; 8 of 640 with 120 words. */
        .others_bytes = bytes_of("NCCL_LL_BUFFSIZE", STEPS * 512 * 8 * 16) +
                        bytes_of("NCCL_LL128_BUFFSIZE", STEPS * 640 * 120 * 8),
        .simple_bytes = bytes_of("NCCL_BUFFSIZE", 4 * MIB),
        .multicast_chunk_bytes = bytes_of("NCCL_NVLS_CHUNKSIZE", 128 * UINT64_C(1024)),
        .least_channels =
            clamp(number("NCCL_MIN_NCHANNELS", number("NCCL_MIN_CTAS", 0)), 0, MAX_CHANNELS),
        .most_channels = clamp(number("NCCL_MAX_NCHANNELS", number("NCCL_MAX_CTAS", MAX_CHANNELS)),
                               1, MAX_CHANNELS),
        .most_peer_channels =
            clamp(number("NCCL_MAX_P2P_NCHANNELS", MAX_CHANNELS), 1, MAX_CHANNELS),
        .has_virtual_memory = number("NCCL_CUMEM_ENABLE", -2) != 0,
        .has_peer_access =
            number("NCCL_P2P_DISABLE", 0) == 0 &&
            (level == NULL || (strcmp(level, "LOC") != 0 && strcmp(level, "0") != 0)),
        .has_rings = admits("ring"),
        .has_trees = admits("tree"),
    };
    read.connects_late = read.has_virtual_memory && number("NCCL_RUNTIME_CONNECT", 1) != 0;
    read.has_multicast =
        read.has_virtual_memory && number("NCCL_NVLS_ENABLE", 2) != 0 && admits("nvls");
    return read;
}

/* ---- channels ---- */

/* GB/s of a link as NCCL assumes it (topo.h). */
static double link_speed(int capability) {
    return capability >= 100  ? 40.1
           : capability >= 90 ? 20.6
           : capability == 86 ? 12.0
           : capability >= 70 ? 20.0
                              : 18.0;
}

/* The speeds of a channel that NCCL tries, in order, ended by 0 (search.cc). */
static const double *channel_speeds(int capability) {
    static const double BLACKWELL[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18, 0};
    static const double HOPPER[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3, 0};
    static const double OTHERS[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 0};
    return capability >= 100 ? BLACKWELL : capability >= 90 ? HOPPER : OTHERS;
}

/* The channels of the ring: the first speed with the largest sum over channels, as long as speeds
 * are at least about half of it. Few and fast ones are doubled (ncclTopoDupChannels). */
static int ring_channels(const tide_vc_nccl_place *place, double *ret_total) {
    const int most = MAX_CHANNELS / 2;
    double total = place->n_links * link_speed(place->capability);
    double best = 0;
    int n_best = 0;
    *ret_total = 0;
    for (const double *speed = channel_speeds(place->capability); *speed > 0; speed++) {
        int n = clamp((int64_t)(total / *speed), 0, most);
        if (n_best > 0 && (*speed / best <= .49 || *ret_total >= total)) {
            break;
        }
        if (n * *speed > *ret_total) {
            *ret_total = n * *speed;
            best = *speed;
            n_best = n;
        }
    }
    bool is_doubled = best >= 25 && !(place->capability > 80 && best < 50 && n_best > 4);
    return is_doubled ? clamp((int64_t)2 * n_best, 1, most) : n_best;
}

/* Whether NVLink SHARP is faster than the ring for an all-reduce (ncclTopoTuneModel of tuning.cc);
 * each member is the head of one channel, and all of them share a card's links. */
static bool is_multicast_faster(const tide_vc_nccl_place *place, double ring_total) {
    double total = place->n_links * link_speed(place->capability);
    double efficiency = place->capability >= 100 ? 0.74 : 0.85;
    const double *speed = channel_speeds(place->capability);
    while (*speed > 0 && *speed * place->n_ranks > total) {
        speed++;
    }
    return 2 * efficiency * *speed * (place->n_ranks - 1) > ring_total;
}

static int power_of_2(int n) {
    int power = 1;
    while (power < n) {
        power *= 2;
    }
    return power;
}

static int count_channels(const tide_vc_nccl_place *place, const settings *with,
                          double *ret_total) {
    int n = PCIE_CHANNELS;
    *ret_total = 0;
    if (place->n_ranks == 1) {
        n = MAX_CHANNELS;
    } else if (place->n_links > 0) {
        n = 2 * ring_channels(place, ret_total);
    }
    n = n < with->most_channels ? n : with->most_channels;
    n = place->most_channels > 0 && place->most_channels < n ? place->most_channels : n;
    n = n > with->least_channels ? n : with->least_channels;
    return clamp(n > place->least_channels ? n : place->least_channels, 1, MAX_CHANNELS);
}

/* ---- bytes ---- */

static uint64_t in_grains(uint64_t n_bytes) {
    return (n_bytes + GRAIN - 1) / GRAIN * GRAIN;
}

/* Adds the buffers of one channel's connections to one peer, both directions (p2p.cc). Cards of
 * compute capability 8.0 read from the sender's buffer. Without peer access, the buffers are the
 * host's. */
static void add_connection(const tide_vc_nccl_place *place, const settings *with,
                           tide_vc_nccl_buffers *to) {
    bool reads = place->capability == 80;
    if (place->n_links > 0 && with->has_peer_access) {
        to->send = in_grains(COUNTER_BYTES + (reads ? with->simple_bytes : 0));
        to->receive =
            in_grains(COUNTER_BYTES + with->others_bytes + (reads ? 0 : with->simple_bytes));
    }
}

static tide_vc_nccl_buffers compute(const tide_vc_nccl_place *place, const settings *with) {
    assert(place->n_ranks >= 1 && place->n_links >= 0);
    double ring_total = 0;
    tide_vc_nccl_buffers made = {.n_channels = count_channels(place, with, &ring_total)};
    int n_peers =
        clamp(power_of_2(made.n_channels < with->most_peer_channels ? made.n_channels
                                                                    : with->most_peer_channels),
              1, MAX_CHANNELS);
    int per_peer = place->n_links > 0 ? power_of_2(2 * place->n_links) : PCIE_CHANNELS;
    int n_all = n_peers > made.n_channels ? n_peers : made.n_channels;
    uint64_t n_small = COMMUNICATOR_ALLOCATIONS + CHANNEL_ALLOCATIONS * (uint64_t)n_all;
    bool has_multicast =
        with->has_multicast && place->n_ranks > 1 && place->n_links > 0 && place->capability >= 90;
    uint64_t n_multicast = place->capability >= 100 ? 24 : 16; /* NVLS_NCHANNELS of nvls.cc */
    made.n_peer_channels = per_peer < n_peers ? per_peer : n_peers;
    if (has_multicast) {
        n_small += n_multicast + 1; /* members of each channel, and the counters of all */
    }
    made.start = with->has_virtual_memory ? n_small * GRAIN : GRAIN;
    if (place->n_ranks == 1) {
        return made;
    }
    add_connection(place, with, &made);
    uint64_t n_channels = (uint64_t)made.n_channels;
    uint64_t both = made.send + made.receive;
    made.rings = with->has_rings ? n_channels * both : 0;
    /* A chain within the node. Two members use the connections of the ring. */
    made.trees =
        with->has_trees && (place->n_ranks > 2 || !with->has_rings) ? n_channels * both : 0;
    if (has_multicast && is_multicast_faster(place, ring_total)) {
        made.multicast = in_grains(n_multicast * 2 * STEPS * with->multicast_chunk_bytes *
                                   (uint64_t)place->n_ranks);
    }
    made.send *= (uint64_t)made.n_peer_channels;
    made.receive *= (uint64_t)made.n_peer_channels;
    if (!with->connects_late) {
        made.start += made.rings + made.trees + made.multicast;
        made.rings = made.trees = made.multicast = 0;
    }
    return made;
}

tide_vc_nccl_buffers tide_vc_nccl_buffers_of(const tide_vc_nccl_place *place) {
    settings with = read_settings();
    return compute(place, &with);
}

tide_vc_nccl_buffers tide_vc_nccl_least_of(const tide_vc_nccl_place *place) {
    settings with = read_settings();
    with.has_virtual_memory = false;
    with.has_multicast = false;
    return compute(place, &with);
}
