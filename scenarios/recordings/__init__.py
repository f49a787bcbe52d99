"""Recordings read, tagged and shared between questions, and written in other forms."""
