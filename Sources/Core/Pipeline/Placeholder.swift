// Pipeline: placeholder until its first file lands.
