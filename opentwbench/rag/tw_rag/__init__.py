"""The data set tw-rag-bench: grounded Formosa items as questions with four contexts, one of which is gold."""
