"""Published measurements as cases that predictions are held against."""
