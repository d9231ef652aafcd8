// SPDX-License-Identifier: Apache-2.0
package import Settings

/// What the harness lends a running service. Any thread may use it.
package struct ServiceContext: Sendable {
  /// The program's name.
  package let name: String
  package let log: Logger
  /// Stop and reload requests.
  package let signals: ServiceSignals
  /// What the counters line adds up.
  package let counters: CounterBoard
  /// All values, for those who start other processes with them.
  package let values: SettingValues

  /// Also for tests that run a service inside their own process.
  package init(name: String, log: Logger, values: SettingValues) {
    self.name = name
    self.log = log
    self.values = values
    signals = ServiceSignals()
    counters = CounterBoard()
  }
}
