/* checksum.h - CRC-32 as gzip, zlib and PNG use it (polynomial 0xEDB88320, reflected), for small
 * pieces of files.
 */
#ifndef TIDE_COMMON_CHECKSUM_H
#define TIDE_COMMON_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes on from `crc`, the checksum of what came before; 0 at the beginning. */
uint32_t tide_crc32(uint32_t crc, const void *data, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
