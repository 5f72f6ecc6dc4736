"""Capture: the messages in a graph's state are messages of a thread, and its view follows the state.

An adapter says which messages a state holds; what the thread has to learn, hide or show again for that is decided here.
"""

from lossless.capture.capturing import Capture, Captured
from lossless.capture.model import ErasedInStateError, Removal, Track

__all__ = ["Capture", "Captured", "ErasedInStateError", "Removal", "Track"]
