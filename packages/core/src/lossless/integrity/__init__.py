"""Integrity: what is stored is derived again and compared, what is derivable is made again, and copies are made of it all."""

from lossless.integrity.backup import Backup
from lossless.integrity.doctor import Diagnosis
from lossless.integrity.report import Finding, Report

__all__ = ["Backup", "Diagnosis", "Finding", "Report"]
