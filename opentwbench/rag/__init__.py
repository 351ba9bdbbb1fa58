"""The RAG track: documents and questions, systems that retrieve, answers, judges, and what is measured of them."""
