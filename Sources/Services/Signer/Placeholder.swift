// Signer: placeholder until its first file lands.
