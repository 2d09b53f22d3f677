"""CTranslate2: a tensor moves to the card and back."""
import ctranslate2
import numpy as np

print("devices", ctranslate2.get_cuda_device_count())
host = ctranslate2.StorageView.from_array(np.ones((1024, 1024, 16), dtype=np.float32))
card = host.to_device(ctranslate2.Device.cuda)
print(card.device, card.shape, np.array(card.to_device(ctranslate2.Device.cpu)).shape)
