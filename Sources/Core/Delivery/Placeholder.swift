// Delivery: placeholder until its first file lands.
