/* attributes_internal.h - the numbers of cudnn_graph.h: the kinds of descriptors, and the
 * attributes that are read. */
#ifndef TIDE_VC_CUDNN_ATTRIBUTES_INTERNAL_H
#define TIDE_VC_CUDNN_ATTRIBUTES_INTERNAL_H

/* cudnnBackendDescriptorType_t */
enum {
    POINTWISE = 0,
    CONVOLUTION_FORWARD = 10,
    CONVOLUTION_FILTER = 11,
    CONVOLUTION_DATA = 12,
    TENSOR = 17,
    PRODUCT = 19,
    ATTENTION_FORWARD = 41,
    ATTENTION_BACKWARD = 43,
    BAND = 44
};

/* cudnnBackendAttributeName_t */
enum {
    POINTWISE_MODE = 0,
    FORWARD_W = 703,
    FORWARD_X = 704,
    FORWARD_Y = 705,
    DATA_W = 709,
    DATA_DX = 710,
    DATA_DY = 711,
    FILTER_DW = 715,
    FILTER_X = 716,
    FILTER_DY = 717,
    TENSOR_TYPE = 901,
    TENSOR_LENGTHS = 902,
    TENSOR_STEPS = 903,
    TENSOR_ID = 906,
    TENSOR_IS_VIRTUAL = 907,
    TENSOR_IS_VALUE = 908,
    PRODUCT_A = 1520,
    PRODUCT_C = 1522,
    ATTENTION_Q = 2800, /* keys and values follow; likewise in the backward pass */
    ATTENTION_BACKWARD_Q = 2851,
    BAND_LEFT = 3003,
    BAND_SHIFT = 3004
};
enum { GEN_INDEX = 501 }; /* cudnnPointwiseMode_t: the place of a value in its tensor */
/* cudnnBackendAttributeType_t */
enum { TYPE_OF_DESCRIPTORS = 15 };

#endif
