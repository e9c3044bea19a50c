"""The mathematics, as PyTorch modules."""
