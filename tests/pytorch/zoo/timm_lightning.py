"""Five models of timm, forward and backward, and one trained by Lightning in mixed precision: two epochs of four batches."""
import tempfile

import lightning
import timm
import torch

MODELS = {"resnet18": 11689512, "convnext_tiny": 28589128, "efficientnet_b0": 5288548, "swin_tiny_patch4_window7_224": 28288354,
          "deit_small_patch16_224": 22050664}  # parameters, as their papers and timm's own table of models say
for name in MODELS:
    model = timm.create_model(name).cuda()
    model(torch.randn(2, 3, 224, 224, device="cuda")).sum().backward()
    print(f"{name}: {sum(p.numel() for p in model.parameters())}")


class Training(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = timm.create_model("resnet18", num_classes=10)

    def training_step(self, batch, i):
        loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


data = torch.utils.data.TensorDataset(torch.randn(32, 3, 64, 64), torch.randint(0, 10, (32,)))
trainer = lightning.Trainer(accelerator="gpu", devices=1, max_epochs=2, precision="16-mixed", logger=False,
                            default_root_dir=tempfile.mkdtemp(), enable_progress_bar=False)
trainer.fit(Training(), torch.utils.data.DataLoader(data, 8))
print(f"steps: {trainer.global_step}")
