"""Figures of agent loops: sessions, tools, calls started early, quality."""
