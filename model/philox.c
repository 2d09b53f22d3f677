#include "model/philox.h"

enum { N_ROUNDS = 10 };

/* Multipliers and key increments of the paper, table 2 and section 3.3. */
static const uint32_t MULTIPLIER_0 = UINT32_C(0xD2511F53);
static const uint32_t MULTIPLIER_1 = UINT32_C(0xCD9E8D57);
static const uint32_t WEYL_0 = UINT32_C(0x9E3779B9); /* golden ratio */
static const uint32_t WEYL_1 = UINT32_C(0xBB67AE85); /* sqrt(3) - 1 */

tide_philox_block tide_philox4x32(const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t c0 = counter[0];
    uint32_t c1 = counter[1];
    uint32_t c2 = counter[2];
    uint32_t c3 = counter[3];
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    for (int round = 0; round < N_ROUNDS; round++) {
        /* A round: two wide products, whose high halves mix with the other words and with the key;
         * the key then advances by a Weyl step, so no two rounds are the same function. */
        uint64_t product_0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t product_1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(product_1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product_1;
        c2 = (uint32_t)(product_0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product_0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    return (tide_philox_block){{c0, c1, c2, c3}};
}

tide_philox_block tide_philox_elements(uint64_t seed, uint64_t stream, uint64_t block) {
    /* The stream is in the counter, not in the key, so seeds and streams cannot collide. */
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    return tide_philox4x32(counter, key);
}
