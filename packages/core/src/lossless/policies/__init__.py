"""How notes are written from sources."""
