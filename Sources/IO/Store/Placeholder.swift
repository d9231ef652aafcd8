// Store: placeholder until its first file lands.
