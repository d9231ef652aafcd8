// SPDX-License-Identifier: Apache-2.0
import Ingest
import ServiceKit

@main
struct Main {
  static func main() { runService(IngestService.self) }
}
