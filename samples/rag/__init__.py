"""What the RAG track is tried on without anybody else's server."""
