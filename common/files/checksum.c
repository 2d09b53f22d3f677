/* checksum.c - CRC-32, four bits at a time. */
#include "common/files/checksum.h"

uint32_t tide_crc32(uint32_t crc, const void *data, size_t n_bytes) {
    /* One entry for each value of four bits. A table of 256 entries would be twice as fast; the
     * data is small, and 16 numbers can be checked by eye. */
    static const uint32_t TABLE[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    const unsigned char *bytes = data;
    crc = ~crc;
    for (size_t i = 0; i < n_bytes; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ TABLE[crc & 15];
        crc = crc >> 4 ^ TABLE[crc & 15];
    }
    return ~crc;
}
