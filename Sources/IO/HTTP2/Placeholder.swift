// HTTP2: placeholder until its first file lands.
