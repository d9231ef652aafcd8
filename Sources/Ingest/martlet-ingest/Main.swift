// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Ingest
import ServiceKit

@main
struct Main {
  static func main() {
    // Records go from librdkafka's threads to the loop and back.
    MemoryArena.share()
    runService(IngestService.self)
  }
}
