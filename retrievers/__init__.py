"""What can be found: corpus, encoder, index, dense and keyword search, one search session a question."""
