"""DETR of transformers, random weights and a small backbone: three steps of training with its Hungarian matcher, one evaluation.

Four images of 256 x 256 with 3 boxes each, 20 queries. The matcher pairs each box with one query: 12 pairs in a step.
"""
import torch
from transformers import DetrConfig, DetrForObjectDetection, DetrImageProcessor
from transformers.loss import loss_for_object_detection as losses

pairs = []


def watch_pairs():
    forward = losses.HungarianMatcher.forward

    def counting(self, outputs, targets):
        found = forward(self, outputs, targets)
        pairs.extend(len(queries) for queries, _ in found)
        return found

    losses.HungarianMatcher.forward = counting


def main():
    from transformers import ResNetConfig
    config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                        backbone_config=ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1], out_features=["stage4"]),
                        num_queries=20, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                        encoder_ffn_dim=128, decoder_ffn_dim=128, num_labels=5)
    model = DetrForObjectDetection(config).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(3):
        images = torch.randn(4, 3, 256, 256).cuda()
        labels = [{"class_labels": torch.randint(0, 5, (3,)).cuda(), "boxes": (torch.rand(3, 4) * 0.4 + 0.1).cuda()} for _ in range(4)]
        output = model(pixel_values=images, labels=labels)
        assert torch.isfinite(output.loss), "the loss is not finite"
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1, error_if_nonfinite=True)
        optimizer.step()
        optimizer.zero_grad()
    print(f"pairs: {sum(pairs)}")
    model.eval()
    with torch.no_grad():
        output = model(pixel_values=images)
    found = DetrImageProcessor().post_process_object_detection(output, threshold=0.5, target_sizes=[(256, 256)] * 4)
    print(f"images: {len(found)}")
    print(f"detections: {sum(len(f['scores']) for f in found)}")
    print(f"peak allocated: {torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    watch_pairs()
    main()
