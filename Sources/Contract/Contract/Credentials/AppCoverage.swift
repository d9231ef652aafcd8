// SPDX-License-Identifier: Apache-2.0

/// The apps served by a list of signing keys or client certificates, per environment, and their teams: to report what a
/// running process would lose by a changed list.
public struct AppCoverage: Sendable, Equatable {
  private struct App: Hashable, Sendable {
    let name: String
    let environment: UInt8
  }

  /// Team ids; empty where unknown.
  private var served: [App: String] = [:]

  public init() {}

  /// - Parameter team: the team of the credential; nil if unknown.
  public mutating func add(
    _ apps: [String], _ scope: ProviderTokenBook.Scope, team: String? = nil
  ) {
    for environment in Environment.allCases where scope.covers(environment) {
      for app in apps { served[App(name: app, environment: environment.rawValue)] = team ?? "" }
    }
  }

  /// Apps served here but not by `next`, in order: `com.example.app`, or `com.example.app in sandbox` if it keeps
  /// another environment.
  public func lost(in next: AppCoverage) -> [String] {
    words(served.keys.filter { next.team(of: $0) == nil })
  }

  /// Apps that `next` serves for another team, in order, in the same form.
  public func moved(in next: AppCoverage) -> [String] {
    let moved = served.filter { app, team in
      guard !team.isEmpty, let other = next.team(of: app), !other.isEmpty else { return false }
      return other != team
    }
    return words(Array(moved.keys))
  }

  private func team(of app: App) -> String? {
    served[app] ?? served[App(name: "*", environment: app.environment)]
  }

  private func words(_ apps: [App]) -> [String] {
    let byName = Dictionary(grouping: apps, by: \.name)
    return byName.keys.sorted().map { name in
      let shown = name == "*" ? "every other app (\"*\")" : name
      let all = Environment.allCases.filter {
        served[App(name: name, environment: $0.rawValue)] != nil
      }
      let gone = all.filter { environment in
        byName[name]?.contains { $0.environment == environment.rawValue } == true
      }
      return gone.count == all.count
        ? shown : "\(shown) in \(gone.map(\.description).joined(separator: ", "))"
    }
  }
}
