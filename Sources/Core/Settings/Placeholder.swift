// Settings: placeholder until its first file lands.
