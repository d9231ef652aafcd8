// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import ServiceKit

@main
struct Main {
  static func main() { runService(SimulatorService.self) }
}
