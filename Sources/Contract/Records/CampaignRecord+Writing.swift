// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import Telemetry

extension CampaignRecord {
  /// The record's value.
  public var value: [UInt8] { Self.mark + JSONValue.object(object).text }

  /// The campaign without the request's content.
  public var summary: JSONObject { JSONObject(object.members.filter { $0.key != "request" }) }

  private var object: JSONObject {
    var object = JSONObject()
    object.append("campaign", .string(name))
    object.append("at", .integer(at))
    object.append("by", .string(by))
    object.append("send_at", .string(startText))
    if let local = plan.local { object.append("time_zone", .string(local.zone)) }
    object.append("request", .object(request))
    object.append("audience", .object(audienceObject))
    if let trial = plan.trial {
      object.append(
        "first",
        ["percent": Self.percent(trial.share), "wait_seconds": .integer(trial.wait / 1_000)])
    }
    if !plan.limits.isEmpty { object.append("stop", .object(limitsObject)) }
    if let pace { object.append("pace", .string("\(pace)")) }
    if progress.revision > 0 { object.append("progress", .object(progressObject)) }
    if !outcomes.isEmpty { object.append("outcomes", .object(outcomesObject)) }
    if let rates {
      object.append(
        "rates",
        [
          "at": .integer(rates.at), "addressed": .double(rates.addressed),
          "outcomes": .double(rates.outcomes),
        ])
    }
    return object
  }

  var outcomesObject: JSONObject {
    JSONObject(outcomes.named.map { .init(key: $0.name, value: .integer(Int64($0.count))) })
  }

  private var audienceObject: JSONObject {
    var object = JSONObject()
    for (name, text) in [
      ("locale", audience.locale), ("app_version", audience.leastVersion),
      ("bundle", audience.bundle), ("topic", audience.tokenTopic),
    ] {
      if let text { object.append(name, .string(text)) }
    }
    for (name, tags) in [("tags_any", audience.tagsAny), ("tags_all", audience.tagsAll)]
    where !tags.isEmpty { object.append(name, .array(tags.map { .string($0) })) }
    if let time = audience.registeredSince {
      object.append("registered_since", .string(Timestamp.text(milliseconds: time)))
    }
    return object
  }

  private var limitsObject: JSONObject {
    var object = JSONObject()
    for (name, number) in [
      ("rejected_percent", plan.limits.rejected.map(Self.percent)),
      ("unregistered_percent", plan.limits.unregistered.map(Self.percent)),
      ("unregistered_times", plan.limits.unregisteredTimes.map { .double($0) }),
    ] {
      if let number { object.append(name, number) }
    }
    if let time = plan.limits.slowerThan { object.append("slower_than_ms", .integer(time)) }
    return object
  }

  /// A share in percent, as its author wrote it, without the rounding error of a multiplication where it has at most
  /// nine decimals. Rounded, a smaller one would be 0, which is no limit, and the record could not be read.
  private static func percent(_ share: Double) -> JSONValue {
    let rounded = (share * 1e11).rounded() / 1e9
    return .double(rounded / 100 == share ? rounded : share * 100)
  }

  private var progressObject: JSONObject {
    var object = JSONObject()
    object.append("revision", .integer(progress.revision))
    object.append("state", .string(progress.state.rawValue))
    if let total = progress.total { object.append("total", .integer(Int64(total))) }
    if let wave = progress.wave {
      object.append("wave", .string(Timestamp.text(milliseconds: wave)))
    }
    object.append("cursor", .string(progress.cursor))
    object.append("addressed", .integer(Int64(progress.addressed)))
    if progress.hasSetPace { object.append("pace_set", .bool(true)) }
    if progress.isPaused { object.append("paused", .bool(true)) }
    if let note = progress.note { object.append("note", .string(note)) }
    if let time = progress.trialEndedAt { object.append("first_ended_at", .integer(time)) }
    if let time = progress.endedAt { object.append("ended_at", .integer(time)) }
    if let reason = progress.reason { object.append("reason", .string(reason)) }
    return object
  }

  /// The value of a request to some of its devices, for the topic that only the scheduler writes: it names its
  /// campaign. Its id is the campaign's, so a device's notification has the same `apns-id` whatever other devices are
  /// in the request. Without a lane, ingest chooses one, because it knows the lanes.
  ///
  /// - Parameter tokens: JSON strings separated by commas, at most `RequestRules.maximumTokens`.
  public func request(tokens: some Collection<UInt8>) -> [UInt8] {
    var object = JSONObject()
    object.append(RequestField.id.name, .string(key.requestID))
    object.append(RequestField.group.name, .string(name))
    object.append(RequestField.campaign.name, .string(name))
    object.members += request.members
    return JSONValue.object(object).text.dropLast() + Array(",\"tokens\":[".utf8) + tokens
      + Array("]}".utf8)
  }

  /// Runs ingest's checks on the request.
  ///
  /// - Parameter reader: a reader not in use for anything else meanwhile.
  @discardableResult
  public func checkRequest(_ reader: RequestReader) throws(RequestError) -> PayloadWarnings {
    let before = reader.takesCampaigns
    reader.takesCampaigns = true
    defer { reader.takesCampaigns = before }
    let token = Array("\"\(String(repeating: "0", count: 64))\"".utf8)
    let text = request(tokens: token)
    let result = text.withUnsafeBytes { bytes in
      Result { () throws(RequestError) in try reader.read(bytes).warnings }
    }
    return try result.get()
  }
}
