// EventLoop: placeholder until its first file lands.
