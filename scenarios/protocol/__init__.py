"""The paper's own experiment: arms A to D, declared before they are run, checked against P1 and R1 to R4."""
