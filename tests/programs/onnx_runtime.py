"""ONNX Runtime: a product on its CUDA provider, with NVIDIA's libraries of pip."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

weight = helper.make_tensor("w", TensorProto.FLOAT, [1024, 1024], np.zeros(1024 * 1024, np.float32).tobytes(), raw=True)
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 1024])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 1024])], [weight])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 9
onnxruntime.preload_dlls()
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
print(session.get_providers()[0], session.run(None, {"x": np.ones((64, 1024), np.float32)})[0].shape)
