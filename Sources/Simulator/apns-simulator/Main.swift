// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import ServiceKit

@main
struct Main {
  static func main() {
    // Alone: it needs no certificate, which everything else does.
    if CommandLine.arguments.dropFirst() == ["--behaviours"] {
      StandardOutput.write(BehaviourReport.text)
      return
    }
    runService(SimulatorService.self)
  }
}
