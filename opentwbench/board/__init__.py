"""The public board: a bilingual static site made from the mart alone. Words, pages, charts, files."""
