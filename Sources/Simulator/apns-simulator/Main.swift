// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import ServiceKit

@main
struct Main {
  static func main() {
    // Alone: they need no certificate, which everything else does.
    if CommandLine.arguments.dropFirst() == ["--behaviours"] {
      StandardOutput.write(BehaviourReport.text)
      return
    }
    if CommandLine.arguments.dropFirst() == ["--profiles"] {
      StandardOutput.write(ProfileReport.text)
      return
    }
    runService(SimulatorService.self)
  }
}
