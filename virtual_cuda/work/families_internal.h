/* families_internal.h - the functions that the table of families names, by the file that has them.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_FAMILIES_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_FAMILIES_INTERNAL_H

#include <string.h>

#include "virtual_cuda/work/family_internal.h"

/* elementwise.c */
void tide_vc_parse_vectorised(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_vectorised(const tide_vc_launched_kernel *launched, tide_run_launch *row);
void tide_vc_parse_unrolled(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_unrolled(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* strided.c */
bool tide_vc_read_strided(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* reduction.c */
void tide_vc_parse_reduction(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_reduction(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* multi_tensor.c */
void tide_vc_parse_multi_tensor(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_multi_tensor(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* filled.c */
void tide_vc_parse_random(const char *symbol, tide_vc_parsed *ret_parsed);
void tide_vc_parse_sequence(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_filled(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* indexed.c */
void tide_vc_parse_indexed(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_indexed(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* cat.c */
void tide_vc_parse_cat(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_cat(const tide_vc_launched_kernel *launched, tide_run_launch *row);

#endif
