// SPDX-License-Identifier: Apache-2.0
import APNS
public import Faults
public import JSON
import Settings

/// A fault script: the rules in their order, and the seed if it names one. The format is described in
/// `docs/simulator.md`.
public struct FaultScript: Sendable, Equatable {
  public var seed: UInt64?
  public var rules: [FaultRule]

  /// Reads `{"seed": 1, "rules": […]}` or only the list of rules.
  public init(_ value: JSONValue) throws(FaultScriptError) {
    if let list = value.array {
      rules = try Self.rules(list)
      return
    }
    var fields = try FaultFields(value, name: "the script")
    seed = try fields.integer("seed", 0...UInt64(Int64.max))
    guard let list = fields.value("rules")?.array else {
      throw FaultScriptError("the script has no list of rules")
    }
    _ = fields.value("about")
    try fields.finish()
    rules = try Self.rules(list)
  }

  private static func rules(_ list: [JSONValue]) throws(FaultScriptError) -> [FaultRule] {
    var rules: [FaultRule] = []
    for (index, value) in list.enumerated() { rules.append(try rule(value, index)) }
    return rules
  }

  private static func rule(
    _ value: JSONValue, _ index: Int
  ) throws(FaultScriptError) -> FaultRule {
    guard let text = value["id"]?.string else {
      throw FaultScriptError("rules[\(index)].id is missing")
    }
    guard let id = FaultID(text) else {
      let suggestion = Suggestion.phrase(for: text, among: FaultID.names)
      throw FaultScriptError("rules[\(index)].id is not a fault: \(text)\(suggestion)")
    }
    var fields = try FaultFields(value, name: "rules[\(index)] (\(id))")
    _ = fields.value("id")
    let name = try fields.text("name")
    _ = try fields.text("about")
    let stage = try stage(&fields, id)
    let when = fields.value("when")
    var matcher =
      try when.map { value throws(FaultScriptError) in
        try Self.matcher(value, name: "\(fields.name).when")
      } ?? FaultMatcher()
    let action = try FaultActions.action(&fields, id, stage, &matcher)
    try fields.finish()
    try check(matcher, stage, name: "\(fields.name).when")
    if id == .wrongClock || id == .providerTokenRefused,
      matcher.address != nil || matcher.environment != nil
    {
      throw FaultScriptError(
        "\(fields.name).when may only have from and until: the gateway has one clock and one set of keys"
      )
    }
    return FaultRule(id, name: name, stage: stage, when: matcher, action)
  }

  private static func stage(
    _ fields: inout FaultFields, _ id: FaultID
  ) throws(FaultScriptError) -> FaultStage {
    guard let text = try fields.text("at") else {
      // Some kinds of black hole begin with the connection.
      if id == .blackHole, let what = try fields.text("what"), what == "pings" || what == "settings"
      {
        return .ready
      }
      return id.stages[0]
    }
    guard let stage = FaultStage(text), id.stages.contains(stage) else {
      let stages = id.stages.map(\.description).joined(separator: ", ")
      throw fields.error("at", "must be one of \(stages), not \(text)")
    }
    return stage
  }

  private static func matcher(
    _ value: JSONValue, name: String
  ) throws(FaultScriptError) -> FaultMatcher {
    var fields = try FaultFields(value, name: name)
    var matcher = FaultMatcher()
    if let text = try fields.text("environment") {
      guard let environment = Environment(text) else {
        throw fields.error("environment", "must be production or sandbox, not \(text)")
      }
      matcher.environment = environment
    }
    matcher.address = try fields.text("address")
    matcher.connection = try fields.integer("connection", 1...UInt64(Int64.max))
    matcher.fromTime = try fields.duration("from")
    matcher.untilTime = try fields.duration("until")
    try readRequest(&fields, &matcher)
    matcher.idle = try fields.duration("idle")
    matcher.errors = try fields.integer("errors", 1...1_000_000)
    matcher.badTokenWeight = try fields.integer("bad_token_weight", 1...1_000) ?? 1
    matcher.tokenRate = try fields.integer("token_rate", 0...1_000_000)
    matcher.tokenWindow = try fields.duration("token_window") ?? 1_000
    matcher.connectsPerMinute = try fields.integer("connects_per_minute", 0...1_000_000)
    matcher.nth = try fields.integer("nth", 1...UInt64(Int64.max))
    matcher.every = try fields.integer("every", 1...UInt64(Int64.max))
    matcher.fromCount = try fields.integer("from_count", 1...UInt64(Int64.max))
    matcher.untilCount = try fields.integer("until_count", 1...UInt64(Int64.max))
    matcher.probability = try fields.share("probability") ?? 1
    matcher.times = try fields.integer("times", 1...UInt64(Int64.max))
    try fields.finish()
    return matcher
  }

  private static func readRequest(
    _ fields: inout FaultFields, _ matcher: inout FaultMatcher
  ) throws(FaultScriptError) {
    let isWhole = fields.has("token")
    if isWhole, fields.has("token_prefix") {
      throw fields.error("token_prefix", "cannot be combined with token")
    }
    if let text = try fields.text(isWhole ? "token" : "token_prefix") {
      guard !text.isEmpty, text.utf8.allSatisfy({ Self.isHexadecimal($0) }) else {
        throw fields.error(
          isWhole ? "token" : "token_prefix", "must be hexadecimal digits, not \(text.prefix(8))")
      }
      matcher.token = Array(text.lowercased().utf8)
      matcher.isTokenPrefix = !isWhole
    }
    matcher.topic = try fields.text("topic").map { Array($0.utf8) }
    matcher.app = try fields.text("app").map { Array($0.utf8) }
    if let text = try fields.text("push_type") {
      guard let type = PushType(text.utf8.span) else {
        throw fields.error("push_type", "is not known: \(text)")
      }
      matcher.pushType = type
    }
    matcher.status = try fields.integer("status", 100...999)
    matcher.streamID = try fields.integer("stream_id", 1...Int32.max)
    matcher.headerListSize = try fields.integer("header_list_size", 0...1_000_000)
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  /// A condition that can never hold at its stage is a mistake.
  private static func check(
    _ matcher: FaultMatcher, _ stage: FaultStage, name: String
  ) throws(FaultScriptError) {
    if matcher.needsRequest, stage != .request, stage != .answer {
      throw FaultScriptError("\(name) looks at a request, and there is none at the stage \(stage)")
    }
    if matcher.idle != nil, stage != .idle {
      throw FaultScriptError("\(name).idle cannot be used at the stage \(stage)")
    }
    if matcher.errors != nil, stage != .answer {
      throw FaultScriptError("\(name).errors cannot be used at the stage \(stage)")
    }
    if matcher.connectsPerMinute != nil, stage != .connection {
      throw FaultScriptError("\(name).connects_per_minute cannot be used at the stage \(stage)")
    }
    guard stage == .standing else { return }
    var allowed = FaultMatcher()
    (allowed.environment, allowed.address) = (matcher.environment, matcher.address)
    (allowed.fromTime, allowed.untilTime) = (matcher.fromTime, matcher.untilTime)
    if matcher != allowed {
      throw FaultScriptError(
        "\(name) may only have environment, address, from and until: the rule holds all the time")
    }
  }
}
