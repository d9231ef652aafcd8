// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Scenarios that are still to run, and those that failed. Safe to use from any thread.
final class ScenarioQueue: Sendable {
  private struct State {
    var rest: ArraySlice<Scenario>
    var failed: [String] = []
  }

  private let state: Mutex<State>

  init(_ scenarios: [Scenario]) { state = Mutex(State(rest: scenarios[...])) }

  /// The next one to run; nil when each has been taken.
  func next() -> Scenario? { state.withLock { $0.rest.popFirst() } }

  func addFailure(_ scenario: Scenario) { state.withLock { $0.failed.append(scenario.name) } }

  /// Names, in the order in which they failed.
  var failed: [String] { state.withLock { $0.failed } }
}
