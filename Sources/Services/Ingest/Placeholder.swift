// Ingest: placeholder until its first file lands.
