// Bytes: placeholder until its first file lands.
