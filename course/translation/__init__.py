"""Translations: the texts to translate, their PO files, and the checks of translations."""
