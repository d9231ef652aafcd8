// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Settings

/// The target of a canary's pushes, and their interval: `app,environment,token|channel|user:NAME,every`.
struct CanarySpecification: Sendable, Equatable {
  enum Target: Sendable, Equatable {
    /// A device token, in lower case.
    case device(String)
    /// A broadcast channel's id.
    case channel(String)
    /// A user's name; the user's devices are looked up for each push.
    case user(String)
  }

  static let form = "app,environment,token|channel|user:NAME,every"
  private static let userPrefix = "user:"
  /// The maximum number of canaries, because each has its own series.
  static let most = 100
  /// The range of intervals, in milliseconds.
  static let intervals: ClosedRange<Int64> = 1_000...86_400_000
  static let idPrefix = "martlet-canary:"

  let app: String
  let environment: Environment
  let target: Target
  let intervalMilliseconds: Int64

  /// Parses the canaries of a setting, separated by blanks.
  static func all(parsing text: String) throws(CanaryProblem) -> [CanarySpecification] {
    var canaries: [CanarySpecification] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      let canary = try CanarySpecification(parsing: word)
      if canaries.contains(where: { $0.labels == canary.labels }) {
        throw CanaryProblem(text: "must name each app, environment and target once")
      }
      canaries.append(canary)
    }
    guard (1...most).contains(canaries.count) else {
      throw CanaryProblem(text: "must be 1 to \(most) canaries, separated by blanks")
    }
    return canaries
  }

  init(parsing text: Substring) throws(CanaryProblem) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, !parts[0].isEmpty else {
      throw CanaryProblem(text: "must be \(Self.form)")
    }
    guard let environment = Environment(parts[1]) else {
      throw CanaryProblem(text: "must name production or sandbox")
    }
    guard let every = DurationText.milliseconds(of: parts[3]), Self.intervals.contains(every) else {
      throw CanaryProblem(text: "must have an interval from 1s to 1d, such as 1m")
    }
    app = parts[0]
    self.environment = environment
    target = try Self.target(parts[2])
    intervalMilliseconds = every
  }

  /// Parses a target: hexadecimal digits are a device token.
  private static func target(_ text: String) throws(CanaryProblem) -> Target {
    if text.hasPrefix(userPrefix) {
      let name = String(text.dropFirst(userPrefix.count))
      guard RequestRules.isText(name.utf8.span, most: DeviceDetails.longest) else {
        throw CanaryProblem(text: "must name a user of 1 to \(DeviceDetails.longest) bytes")
      }
      return .user(name)
    }
    if (try? DeviceToken.validate(text.utf8.span)) != nil { return .device(text.lowercased()) }
    if (try? ChannelID.validate(text.utf8.span)) != nil { return .channel(text) }
    throw CanaryProblem(
      text: "must name a device token in hex, a channel's id, or user: and a user's name")
  }

  /// The labels of its series: app, environment and the target's first eight characters, or the user.
  var labels: [String] {
    var target = String(key.prefix(8))
    if case .user = self.target { target = key }
    return [app, environment.description, target]
  }

  /// The record's key, as ingest chooses it.
  var key: String {
    switch target {
    case .device(let token): token
    case .channel(let channel): channel
    case .user(let name): Self.userPrefix + name
    }
  }

  /// Returns a request to the target. A device shows nothing; a broadcast reaches no device unless one subscribes to
  /// the channel.
  ///
  /// - Parameters:
  ///   - wall: The current time in milliseconds since the epoch.
  ///   - timeout: Milliseconds after which the push counts as failed; a push to a device expires then.
  func request(id: String, wall: Int64, timeout: Int64) -> [UInt8] {
    var request = JSONObject()
    request.append("id", .string(id))
    request.append("app", .string(app))
    request.append("environment", .string(environment.description))
    func addDevice(_ field: String, _ value: String) {
      request.append(field, .string(value))
      request.append("type", "background")
      request.append("expiration", .integer((wall + timeout) / 1_000 + 1))
      request.append("collapse_id", "martlet-canary")
      request.append("payload", ["aps": ["content-available": 1], "martlet-canary": .string(id)])
    }
    switch target {
    case .device(let token): addDevice("token", token)
    case .user(let name): addDevice("user", name)
    case .channel(let channel):
      request.append("channel", .string(channel))
      let aps: JSONValue = [
        "timestamp": .integer(wall / 1_000), "event": "update",
        "content-state": ["martlet-canary": .string(id)],
      ]
      request.append("payload", ["aps": aps])
    }
    return JSONValue.object(request).text
  }
}

/// The reason why a text is not a canary: the end of a sentence, such as "must be …".
struct CanaryProblem: Error, Equatable {
  let text: String
}
