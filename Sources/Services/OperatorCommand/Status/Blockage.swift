// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// A destination that is not working, or an app that APNs refuses there: what, why, since when, and how many wait.
struct Blockage: Sendable, Equatable {
  /// The app that APNs refuses; nil when the whole destination is blocked.
  let app: String?
  let credential: String
  let environment: String
  /// The destination's state: `app`, `credential`, `gateway`, `connects` or `no_token`.
  let state: String
  /// Apple's reason; empty where APNs gave none.
  let reason: String
  /// How long it has been so, in seconds; of the longest in this state where destinations are not told apart.
  let seconds: Double
  /// Notifications in the senders' memory that wait for it. Others wait in Kafka.
  let waiting: Double

  /// Those of all senders, the longest first.
  static func all(in pages: [MetricPage]) -> [Blockage] {
    let blocked = pages.flatMap { $0.values("martlet_sender_blocked_notifications") }
    let refused = pages.flatMap { $0.values("martlet_sender_refused_seconds") }
    let longest = pages.flatMap { $0.values("martlet_sender_destination_blocked_seconds") }
    var places: [Place: Double] = [:]
    for series in blocked { places[Place(series), default: 0] += series.value }
    return places.flatMap { place, waiting -> [Blockage] in
      let refusals = Self.refusals(refused.filter { place.isRefused(by: $0) })
      guard refusals.isEmpty else {
        return refusals.map { Blockage($0.key, place, seconds: $0.value, waiting: waiting) }
      }
      let seconds = longest.filter { $0.labels["state"] == place.state }.map(\.value).max() ?? 0
      return [Blockage(Refusal(app: nil, reason: ""), place, seconds: seconds, waiting: waiting)]
    }.sorted { ($1.seconds, $0.sortKey) < ($0.seconds, $1.sortKey) }
  }

  private init(_ refusal: Refusal, _ place: Place, seconds: Double, waiting: Double) {
    app = refusal.app
    credential = place.credential
    environment = place.environment
    state = refusal.app == nil ? place.state : "app"
    reason = refusal.reason
    self.seconds = seconds
    self.waiting = waiting
  }

  private var sortKey: String { "\(app ?? "") \(credential) \(environment) \(state)" }

  private static func refusals(_ series: [MetricPage.Series]) -> [Refusal: Double] {
    series.reduce(into: [:]) { longest, one in
      let app = one.labels["app"] ?? ""
      let refusal = Refusal(app: app.isEmpty ? nil : app, reason: one.labels["reason"] ?? "")
      longest[refusal] = max(longest[refusal] ?? 0, one.value)
    }
  }

  private struct Refusal: Hashable {
    let app: String?
    let reason: String
  }

  /// A destination in a state.
  private struct Place: Hashable {
    let credential: String
    let environment: String
    let state: String

    init(_ series: MetricPage.Series) {
      credential = series.labels["credential"] ?? ""
      environment = series.labels["environment"] ?? ""
      state = series.labels["state"] ?? ""
    }

    /// Whether a refusal explains the state: it does not explain that the gateway does not answer.
    func isRefused(by series: MetricPage.Series) -> Bool {
      ["app", "credential"].contains(state) && series.labels["credential"] == credential
        && series.labels["environment"] == environment
    }
  }
}
