"""The session that ``lossless demo`` plays: days of an agent's work, made up from a seed, the same on every machine."""

from lossless.cli.demo_session.session import DEMO_QUESTION, DemoQuestion, demo_session

__all__ = ["DEMO_QUESTION", "DemoQuestion", "demo_session"]
