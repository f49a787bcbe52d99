"""Options resolved to what is replayed: hardware, step times, prices, replicas, load, draws."""
