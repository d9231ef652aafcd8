// Records: placeholder until its first file lands.
