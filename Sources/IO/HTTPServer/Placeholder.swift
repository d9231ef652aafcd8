// HTTPServer: placeholder until its first file lands.
