"""FAISS: an index of 10,000 vectors on the card."""
import faiss
import numpy as np

resources = faiss.StandardGpuResources()
vectors = np.random.rand(10000, 128).astype("float32")
index = faiss.GpuIndexFlatL2(resources, 128)
index.add(vectors)
distances, found = index.search(vectors[:10], 5)
print(faiss.get_num_gpus(), index.ntotal, distances.shape)
