"""The acceptance of a replay: a profile, a tree, or drafters run on the recording, under grammar and policies."""
