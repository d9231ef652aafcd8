// HTTPClient: placeholder until its first file lands.
