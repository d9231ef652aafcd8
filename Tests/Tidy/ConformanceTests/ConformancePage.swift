// SPDX-License-Identifier: Apache-2.0
import APNS
import Faults

/// The matrix of what the simulator plays and what the sender does about it, made from the decision table,
/// the faults, and the names of the tests.
struct ConformancePage {
  let index: TestIndex

  /// Targets whose tests look at the gateway's side.
  private static let gateway: Set<String> = [
    "GatewaySimulatorTests", "GatewayTests", "HTTP2Tests", "TLSTests", "FaultsTests",
    "ForeignClientTests",
  ]
  /// Targets whose tests look at the sender's side.
  private static let sender: Set<String> = [
    "SenderTests", "APNSTests", "DeliveryTests", "SimulationTests", "FeedbackTests",
    "OperatorCommandTests",
  ]

  var text: String {
    Self.head + reasons + "\n" + Self.faultHead + faults
  }

  private var reasons: String {
    ReasonRule.table.map { rule in
      let tests = Reason.self
      return row([
        "`\(rule.name)`", "\(rule.status)", rule.places, rule.reaction,
        names(of: rule.name, "\(tests)", in: Self.gateway),
        names(of: rule.name, "\(tests)", in: Self.sender),
      ])
    }.joined()
  }

  private var faults: String {
    FaultID.allCases.map { fault in
      row([
        "`\(fault.name)`", fault.number, fault.title, fault.reaction,
        names(of: fault.name, "FaultID", in: Self.gateway),
        names(of: fault.name, "FaultID", in: Self.sender),
      ])
    }.joined()
  }

  /// The rows in which a test is missing.
  var gaps: [String] {
    text.split(separator: "\n").filter { $0.contains("| — |") }.map(String.init)
  }

  private func row(_ cells: [String]) -> String { "| \(cells.joined(separator: " | ")) |\n" }

  private func names(of word: String, _ type: String, in targets: Set<String>) -> String {
    let found = index.tests.filter {
      targets.contains($0.target) && ($0.mentions(word) || $0.coversAll(of: type))
    }
    if found.isEmpty { return "—" }
    return found.map { "\($0.target): \($0.name)" }.joined(separator: "<br>")
  }

  private static let head = """
    # Conformance: every reason and every fault, and their tests

    `MARTLET_WRITE_DOCS=1 swift test --filter ConformanceTests` generates this page from the decision table
    (`Sources/Core/APNS/ReasonRule.swift`), the list of faults (`Sources/Simulator/Faults/FaultID.swift`) and the names
    of the tests. `scripts/test` fails if it is out of date, or if a row has no test. A test whose name begins with
    *each reason* or *each fault* runs once for every row.

    ## Reasons

    | reason | status | where | the sender's reaction | the simulator's tests | the sender's tests |
    | --- | --- | --- | --- | --- | --- |

    """

  private static let faultHead = """
    ## Faults

    [faults.md](faults.md) describes how to script each fault.

    | fault | number | what | the sender's reaction | the simulator's tests | the sender's tests |
    | --- | --- | --- | --- | --- | --- |

    """
}
