"""What people ask: replays with a verdict, sweeps, capacity, calibration, reports."""
