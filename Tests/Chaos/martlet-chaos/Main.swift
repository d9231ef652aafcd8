// SPDX-License-Identifier: Apache-2.0
import ChaosSuite
import ServiceKit

@main
struct Main {
  static func main() { runService(ChaosCommand.self) }
}
