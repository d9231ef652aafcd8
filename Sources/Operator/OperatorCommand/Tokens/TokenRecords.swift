// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

struct TokenDefaults {
  var app: String?
  var environment = Environment.production
  /// The time of a registration without one: early, so that a later response of APNs that the token is invalid counts.
  var registeredAt: Int64 = 0
  /// The time of the import, in milliseconds since the epoch.
  var now = OutsideTime.last
}

/// The records to produce for a token: the registration or removal on `devices`, and APNs' response on `feedback`,
/// which `martlet-feedback` evaluates like any other.
struct TokenRecords {
  let device: DeviceRecord?
  let feedback: FeedbackRecord?

  struct Problem: Error, Equatable {
    let field: String
    let text: String
  }

  init(_ token: ImportedToken, _ defaults: TokenDefaults) throws(Problem) {
    let key = DeviceKey(
      token: try Self.digits(token.token), app: try Self.app(token.app ?? defaults.app),
      environment: token.environment ?? defaults.environment)
    var device: DeviceRecord?
    if let time = token.removedAt {
      try Self.check(time, "removed_at", now: defaults.now)
      device = DeviceRecord(device: key, event: .removed(at: time))
    } else if let time = token.registeredAt
      ?? (token.invalidation == nil ? defaults.registeredAt : nil)
    {
      try Self.check(time, "registered_at", now: defaults.now)
      try Self.check(token.details)
      device = DeviceRecord(device: key, event: .registered(at: time), details: token.details)
    }
    self.device = device
    feedback = try token.invalidation.map { invalidation throws(Problem) in
      try Self.feedback(key, invalidation)
    }
  }

  private static func digits(_ text: String) throws(Problem) -> String {
    do throws(DeviceToken.Problem) {
      return try DeviceToken.normalized(text)
    } catch {
      throw Problem(field: "token", text: "\(error)")
    }
  }

  private static func app(_ name: String?) throws(Problem) -> String {
    guard let name else { throw Problem(field: "app", text: "is not in the file; pass --app") }
    guard (try? RequestRules.checkName(name.utf8.span, .app)) != nil else {
      throw Problem(field: "app", text: "is not a bundle id")
    }
    return name
  }

  private static func check(_ details: DeviceDetails) throws(Problem) {
    for (name, value) in details.members {
      guard let value, value.utf8.count > DeviceDetails.longest else { continue }
      throw Problem(field: name, text: "has more than \(DeviceDetails.longest) bytes")
    }
  }

  /// The same check as in `martlet-feedback`, which would reject a time in seconds.
  private static func check(_ time: Int64, _ field: String) throws(Problem) {
    if let problem = OutsideTime.problem(time) { throw Problem(field: field, text: problem) }
  }

  /// The same check as in `martlet-feedback`, of a record that is written now.
  private static func check(_ time: Int64, _ field: String, now: Int64) throws(Problem) {
    try check(time, field)
    guard time - now <= OutsideTime.mostAhead else {
      throw Problem(
        field: field, text: "is more than a day ahead (\(time)): a wrong clock or unit?")
    }
  }

  private static func feedback(
    _ key: DeviceKey, _ invalidation: ImportedToken.Invalidation
  ) throws(Problem) -> FeedbackRecord {
    try check(invalidation.since, "invalid_since")
    let at = invalidation.recordedAt ?? invalidation.since
    try check(at, "recorded_at")
    // In a response without APNs' time, the time of the push replaces it.
    let hasTime = invalidation.aliveFrom != invalidation.since
    return FeedbackRecord(
      device: key, topic: key.app, status: 410, reason: invalidation.reason,
      timestamp: hasTime ? invalidation.since : nil, apnsID: "",
      sentAt: hasTime ? at : invalidation.since,
      at: at,
      isImported: true)
  }
}
