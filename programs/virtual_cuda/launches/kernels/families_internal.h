/* families_internal.h - the functions that the table of families names, by the file that defines
 * them.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_FAMILIES_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_FAMILIES_INTERNAL_H

#include <string.h>

#include "programs/virtual_cuda/launches/kernels/family_internal.h"

/* elementwise.c */
void tide_vc_parse_vectorised(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_vectorised(const tide_vc_launched_kernel *launched, tide_run_launch *row);
void tide_vc_parse_several(const char *symbol, tide_vc_parsed *ret_parsed);
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

/* flash_attention.c: FlashAttention's kernels: the forward pass, whole or in parts that are joined,
 * and the three kernels of the backward pass. */
void tide_vc_parse_flash_forward(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_flash_forward(const tide_vc_launched_kernel *launched, tide_run_launch *row);
void tide_vc_parse_flash_parts(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_flash_parts(const tide_vc_launched_kernel *launched, tide_run_launch *row);
void tide_vc_parse_flash_backward(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_flash_backward(const tide_vc_launched_kernel *launched, tide_run_launch *row);
void tide_vc_parse_flash_helper(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_flash_join(const tide_vc_launched_kernel *launched, tide_run_launch *row);
bool tide_vc_read_flash_dot(const tide_vc_launched_kernel *launched, tide_run_launch *row);
bool tide_vc_read_flash_convert(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* efficient_attention.c */
void tide_vc_parse_efficient(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_efficient_forward(const tide_vc_launched_kernel *launched, tide_run_launch *row);
bool tide_vc_read_efficient_backward(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* sorting.c: sorts, scans and selections */
void tide_vc_parse_sorting(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_sorting(const tide_vc_launched_kernel *launched, tide_run_launch *row);

/* depthwise.c */
void tide_vc_parse_depthwise(const char *symbol, tide_vc_parsed *ret_parsed);
bool tide_vc_read_depthwise(const tide_vc_launched_kernel *launched, tide_run_launch *row);

#endif
