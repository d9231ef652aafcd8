// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// A blocked destination, or an app that APNs refuses there: the cause, the duration, and the number of waiting pushes.
struct Blockage: Sendable, Equatable {
  /// The app that APNs refuses; nil if the whole destination is blocked.
  let app: String?
  let credential: String
  let environment: String
  /// The destination's state: `app`, `credential`, `gateway`, `connects` or `no_token`.
  let state: String
  /// The reason that APNs gave; empty if none.
  let reason: String
  /// The duration of this state in seconds; the longest one if destinations are not distinguished.
  let seconds: Double
  /// Notifications in the senders' memory that wait for the destination. Others wait in Kafka.
  let waiting: Double

  /// The blockages of all senders, longest first. One refusal is one blockage, however many loops report it: some may
  /// have found that it concerns an app (`app`) while others have not (`credential`).
  static func all(in pages: [MetricPage]) -> [Blockage] {
    let refused = pages.flatMap { $0.values("martlet_sender_refused_seconds") }
    let longest = pages.flatMap { $0.values("martlet_sender_destination_blocked_seconds") }
    var places: [Key: Double] = [:]
    for series in held(in: pages) {
      places[Key(series, isRefused: refused.contains { $0.explains(series) }), default: 0] +=
        series.value
    }
    return places.flatMap { place, waiting -> [Blockage] in
      guard place.state != Key.refused else {
        return refusals(refused.filter { Key($0, isRefused: true) == place }).map {
          Blockage($0.key, place, seconds: $0.value, waiting: waiting)
        }
      }
      let seconds = longest.filter { $0.labels["state"] == place.state }.map(\.value).max() ?? 0
      return [Blockage(Refusal(app: nil, reason: ""), place, seconds: seconds, waiting: waiting)]
    }.sorted { ($1.seconds, $0.sortKey) < ($0.seconds, $1.sortKey) }
  }

  /// The states of destinations that blockages report individually.
  static func states(in pages: [MetricPage]) -> Set<String> {
    Set(held(in: pages).map { $0.labels["state"] ?? "" })
  }

  private static func held(in pages: [MetricPage]) -> [MetricPage.Series] {
    pages.flatMap { $0.values("martlet_sender_blocked_notifications") }
  }

  private init(_ refusal: Refusal, _ place: Key, seconds: Double, waiting: Double) {
    app = refusal.app
    credential = place.credential
    environment = place.environment
    state = place.state != Key.refused ? place.state : refusal.app == nil ? "credential" : "app"
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
  private struct Key: Hashable {
    /// Replaces `app` and `credential` if the senders' pages name the refusal.
    static let refused = "refused"

    let credential: String
    let environment: String
    let state: String

    init(_ series: MetricPage.Series, isRefused: Bool) {
      credential = series.labels["credential"] ?? ""
      environment = series.labels["environment"] ?? ""
      state = isRefused ? Self.refused : series.labels["state"] ?? ""
    }
  }
}

extension MetricPage.Series {
  /// Whether a refusal explains a destination's state: it does not explain a gateway that does not respond.
  fileprivate func explains(_ held: MetricPage.Series) -> Bool {
    ["app", "credential"].contains(held.labels["state"])
      && ["credential", "environment"].allSatisfy { labels[$0] == held.labels[$0] }
  }
}
