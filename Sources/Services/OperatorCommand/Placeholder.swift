// OperatorCommand: placeholder until its first file lands.
