// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The remaining scenarios, and the failed ones. Safe to use from any thread.
final class ScenarioQueue: Sendable {
  private struct State {
    var rest: ArraySlice<Scenario>
    var failed: [String] = []
  }

  private let state: Mutex<State>

  init(_ scenarios: [Scenario]) { state = Mutex(State(rest: scenarios[...])) }

  /// Returns the next scenario; nil if there are no more.
  func next() -> Scenario? { state.withLock { $0.rest.popFirst() } }

  func addFailure(_ scenario: Scenario) { state.withLock { $0.failed.append(scenario.name) } }

  /// The names of the failed scenarios, in order of failure.
  var failed: [String] { state.withLock { $0.failed } }
}
