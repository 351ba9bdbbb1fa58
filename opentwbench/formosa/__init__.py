"""The Formosa track: articles of Taiwan.md become windows, windows become drafts, drafts become published items."""
