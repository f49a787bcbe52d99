"""What a real vLLM server reports about its speculation, one source a file."""
