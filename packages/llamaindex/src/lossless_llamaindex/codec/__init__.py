"""Codec ``llamaindex/1``: any LlamaIndex message as plain values, and the same message again."""

from lossless_llamaindex.codec.messages import FORMAT, decode_message, encode_message
from lossless_llamaindex.codec.placeholders import UnknownBlock, UnknownMessage
from lossless_llamaindex.codec.stored import decode_stored

__all__ = ["FORMAT", "UnknownBlock", "UnknownMessage", "decode_message", "decode_stored", "encode_message"]
