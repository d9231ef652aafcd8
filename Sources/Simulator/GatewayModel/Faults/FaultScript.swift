// SPDX-License-Identifier: Apache-2.0
import Contract
import Settings

/// A fault script: the rules in order, and an optional seed. `docs/simulator.md` describes the format.
public struct FaultScript: Sendable, Equatable {
  public var seed: UInt64?
  public var rules: [FaultRule]

  /// Reads `{"seed": 1, "rules": […]}` or just the list of rules.
  public init(_ value: FaultValue) throws(FaultScriptError) {
    var list = value.list
    if list == nil {
      var fields = try FaultFields(value, name: "the script")
      seed = try fields.integer("seed", 0...UInt64(Int64.max))
      list = fields.value("rules")?.list
      if list == nil { throw FaultScriptError("the script has no list of rules") }
      _ = fields.value("about")
      try fields.finish()
    }
    rules = []
    for (index, value) in (list ?? []).enumerated() { rules.append(try Self.rule(value, index)) }
  }

  private static func rule(
    _ value: FaultValue, _ index: Int
  ) throws(FaultScriptError) -> FaultRule {
    guard let text = value.member("id")?.text else {
      throw FaultScriptError("rules[\(index)].id is missing")
    }
    guard let fault = Fault(text) else {
      let suggestion = Suggestion.phrase(for: text, among: Fault.all.map(\.name))
      throw FaultScriptError("rules[\(index)].id is not a fault: \(text)\(suggestion)")
    }
    var fields = try FaultFields(value, name: "rules[\(index)] (\(fault))")
    _ = fields.value("id")
    let name = try fields.text("name")
    _ = try fields.text("about")
    fields.stage = try stage(&fields, fault)
    let conditions = "\(fields.name).when"
    if let when = fields.value("when") {
      var members = try FaultFields(when, name: conditions)
      fields.when = try FaultMatcher(&members)
      try members.finish()
    }
    let action = try fault.read(&fields)
    try fields.finish()
    try fields.when.check(at: fields.stage, name: conditions)
    if fault == .wrongClock || fault == .providerTokenRefused,
      fields.when.address != nil || fields.when.environment != nil
    {
      throw FaultScriptError(
        "\(conditions) may only have from and until: the gateway has one clock and one set of keys")
    }
    return FaultRule(fault, name: name, stage: fields.stage, when: fields.when, action)
  }

  private static func stage(
    _ fields: inout FaultFields, _ fault: Fault
  ) throws(FaultScriptError) -> FaultStage {
    guard let text = try fields.text("at") else { return fault.stages[0] }
    guard let stage = FaultStage(text), fault.stages.contains(stage) else {
      let stages = fault.stages.map { "\($0)" }.joined(separator: ", ")
      throw fields.error("at", "must be one of \(stages), not \(text)")
    }
    return stage
  }
}

extension FaultMatcher {
  /// Reads `when`.
  fileprivate init(_ fields: inout FaultFields) throws(FaultScriptError) {
    if let text = try fields.text("environment") {
      environment = Environment(text)
      if environment == nil {
        throw fields.error("environment", "must be production or sandbox, not \(text)")
      }
    }
    address = try fields.text("address")
    connection = try fields.count("connection")
    fromTime = try fields.duration("from")
    untilTime = try fields.duration("until")
    try readRequest(&fields)
    idle = try fields.duration("idle")
    errors = try fields.integer("errors", 1...1_000_000)
    badTokenWeight = try fields.integer("bad_token_weight", 1...1_000) ?? 1
    tokenRate = try fields.integer("token_rate", 0...1_000_000)
    tokenWindow = try fields.duration("token_window") ?? 1_000
    connectsPerMinute = try fields.integer("connects_per_minute", 0...1_000_000)
    nth = try fields.count("nth")
    every = try fields.count("every")
    fromCount = try fields.count("from_count")
    untilCount = try fields.count("until_count")
    probability = try fields.share("probability") ?? 1
    times = try fields.count("times")
  }

  private mutating func readRequest(_ fields: inout FaultFields) throws(FaultScriptError) {
    isTokenPrefix = !fields.has("token")
    let field = isTokenPrefix ? "token_prefix" : "token"
    if !isTokenPrefix, fields.has("token_prefix") {
      throw fields.error("token_prefix", "cannot be combined with token")
    }
    if let text = try fields.text(field) {
      guard !text.isEmpty, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
        throw fields.error(field, "must be hexadecimal digits, not \(text.prefix(8))")
      }
      token = Array(text.lowercased().utf8)
    } else {
      isTokenPrefix = false
    }
    topic = try fields.text("topic").map { Array($0.utf8) }
    app = try fields.text("app").map { Array($0.utf8) }
    if let text = try fields.text("push_type") {
      pushType = PushType(text.utf8.span)
      if pushType == nil { throw fields.error("push_type", "is not known: \(text)") }
    }
    status = try fields.integer("status", 100...999)
    streamID = try fields.integer("stream_id", 1...Int32.max)
    headerListSize = try fields.integer("header_list_size", 0...1_000_000)
    if fields.has("indexed") {
      let names = IndexedFields.names
      indexed = names[try fields.place("indexed", names.map(\.name))].field
    }
  }

  /// Rejects a condition that can never hold at its stage.
  fileprivate func check(at stage: FaultStage, name: String) throws(FaultScriptError) {
    if needsRequest, stage != .request, stage != .answer {
      throw FaultScriptError("\(name) looks at a request, and there is none at the stage \(stage)")
    }
    let particular: [(field: String, isGiven: Bool, only: FaultStage)] = [
      ("idle", idle != nil, .idle), ("errors", errors != nil, .answer),
      ("connects_per_minute", connectsPerMinute != nil, .connection),
    ]
    for (field, isGiven, only) in particular where isGiven && stage != only {
      throw FaultScriptError("\(name).\(field) cannot be used at the stage \(stage)")
    }
    guard stage == .standing else { return }
    var allowed = FaultMatcher()
    (allowed.environment, allowed.address) = (environment, address)
    (allowed.fromTime, allowed.untilTime) = (fromTime, untilTime)
    if self != allowed {
      throw FaultScriptError(
        "\(name) may only have environment, address, from and until: the rule holds all the time")
    }
  }
}
