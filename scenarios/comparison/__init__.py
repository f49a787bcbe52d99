"""Two results side by side: differences with intervals, where they come from, and limits on them."""
