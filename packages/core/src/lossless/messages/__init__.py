"""The message model: payloads kept verbatim, parts read from them, formats, units and provider profiles."""
