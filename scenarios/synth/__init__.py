"""Synthetic agent traffic: fitted to a recording or declared by knobs, never holding the recording's text."""
