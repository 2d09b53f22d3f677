/* checksum.h - the CRC-32 of gzip, zlib and PNG (polynomial 0xEDB88320, reflected), for small
 * pieces of files.
 */
#ifndef TIDE_COMMON_CHECKSUM_H
#define TIDE_COMMON_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Continues from `crc`, the checksum of the bytes before; begin with 0. */
uint32_t tide_crc32(uint32_t crc, const void *data, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
