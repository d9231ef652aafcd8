// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import ServiceKit

@main
struct Main {
  static func main() {
    // These flags work alone and need no certificate, unlike everything else.
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
