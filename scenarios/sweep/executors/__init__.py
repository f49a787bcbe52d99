"""Where the runs of a sweep are done; each module but base is one way, found by being here."""
