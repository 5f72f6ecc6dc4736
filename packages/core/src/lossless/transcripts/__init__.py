"""Transcripts: conversations that other tools keep in files, read for import."""

from lossless.transcripts.model import BadLine, Conversation
from lossless.transcripts.reader import FORMATS, read_transcript

__all__ = ["FORMATS", "BadLine", "Conversation", "read_transcript"]
