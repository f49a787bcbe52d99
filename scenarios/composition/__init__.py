"""C_total composed of single levers, replayed with all of them, and what lies between."""
