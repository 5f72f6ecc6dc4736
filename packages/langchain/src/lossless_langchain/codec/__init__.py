"""Codec ``langchain/1``: any LangChain message as plain values, and the same message again."""

from lossless.messages.objects import UnknownObject, pack, unpack
from lossless_langchain.codec.messages import FORMAT, decode_message, encode_message
from lossless_langchain.codec.placeholders import RawPayload
from lossless_langchain.codec.stored import decode_erased, decode_stored

__all__ = [
    "FORMAT",
    "RawPayload",
    "UnknownObject",
    "decode_erased",
    "decode_message",
    "decode_stored",
    "encode_message",
    "pack",
    "unpack",
]
