// rows.h: what one row more would take, of reads that gave an assumed number of rows.
//
// Results of later kernels with that many rows belong to the read, and are counted while they are
// alive. Thread-safe.
#pragma once
#include "values.h"

namespace tidemark {

// Whether anything is watched: then look() is called for each result.
bool is_watching_rows();
// The read `site` gave n rows of the possible ones.
void watch_rows(int64_t site, int64_t n, int64_t possible);
void look_at_rows(const at::Tensor &t);
// The largest sums that were alive at once: of one row more, and of all rows that were not given.
// is_of_one: of a single read; otherwise of all reads of the site.
void rows_bytes(int64_t site, bool is_of_one, int64_t &ret_row, int64_t &ret_all);

} // namespace tidemark
