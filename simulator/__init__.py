"""Numbers only: lengths, label runs, times, costs. The law, acceptance, cost, cache, scheduler, engine."""
