"""Capacity: the fewest GPUs, and the least money, that serve a traffic within its latency targets."""
