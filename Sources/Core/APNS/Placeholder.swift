// APNS: placeholder until its first file lands.
