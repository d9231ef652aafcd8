// Telemetry: placeholder until its first file lands.
