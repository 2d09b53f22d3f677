/* host.h - the machine on which this process runs, for the description of a run. */
#ifndef TIDE_CAPTURE_HOST_H
#define TIDE_CAPTURE_HOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_HOST_TEXT = 256 };

/* Texts are "" and numbers are -1 if the system does not report them. */
typedef struct tide_host_info {
    char name[TIDE_HOST_TEXT]; /* host name */
    char os[TIDE_HOST_TEXT];   /* "Debian GNU/Linux 12 (bookworm), Linux 6.1.0" */
    char cpu[TIDE_HOST_TEXT];  /* the processor's own name */
    int64_t n_cpus;            /* processors on which this process may run */
    int64_t total_bytes;       /* main memory */
} tide_host_info;

void tide_host_get_info(tide_host_info *ret_info);

#ifdef __cplusplus
}
#endif

#endif
