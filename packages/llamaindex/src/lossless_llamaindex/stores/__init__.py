"""Chat stores: what LlamaIndex keeps by key is a thread of that id."""

from lossless_llamaindex.stores.async_chat_store import LosslessAsyncChatStore
from lossless_llamaindex.stores.chat_store import LosslessChatStore
from lossless_llamaindex.stores.importing import import_chat_store, import_chat_table

__all__ = ["LosslessAsyncChatStore", "LosslessChatStore", "import_chat_store", "import_chat_table"]
