// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTPClient

extension SenderRig {
  /// Adds fault rules (`docs/simulator.md`) to the simulator.
  func addFaults(_ rules: String) throws {
    let answer = try HTTPClient().post("\(admin)/faults", Array(rules.utf8))
    if answer.status != 200 { throw RefusedFaults(text: answer.text) }
  }

  /// Ends all faults.
  func endFaults() throws { _ = try HTTPClient().delete("\(admin)/faults") }

  private var admin: String { "http://127.0.0.1:\(simulator.adminPort)" }
}

struct RefusedFaults: Error { let text: String }
