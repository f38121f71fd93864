"""Translations: which texts there are, the PO files that hold them, and the checks on these."""
