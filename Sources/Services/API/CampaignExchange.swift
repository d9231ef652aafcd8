// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import Contract
import EventLoop
import HTTPServer
import JSON
import Records
import Schedule

/// A request about campaigns on its way: first a question to the database, then, for a change, a record that Kafka is to
/// acknowledge.
final class CampaignExchange: WaitingExchange {
  static let mark: UInt = 1 << 60

  enum Kind {
    case list
    case read(String)
    /// Its body is the campaign.
    case start
    case change(String, Change)

    var isStart: Bool { if case .start = self { true } else { false } }

    var isQuestion: Bool {
      switch self {
      case .list, .read: true
      case .start, .change: false
      }
    }
  }

  enum Change: String {
    case paused, resumed, cancelled
  }

  let exchange: StreamExchange
  let kind: Kind
  /// As it was when the request began.
  let key: APIKey
  var body = ByteBuffer(capacity: 512)
  /// The campaign to be started.
  var campaign: CampaignRecord?
  /// What devices will ignore of its payload.
  var warnings = PayloadWarnings()
  /// The client has gone.
  var isGone = false
  /// When it is given up (monotonic milliseconds).
  var deadline = UInt64.max

  init(_ exchange: StreamExchange, _ kind: Kind, _ key: APIKey) {
    self.exchange = exchange
    self.kind = kind
    self.key = key
  }

  /// The campaign that is meant; nil for all.
  var name: String? {
    switch kind {
    case .list: nil
    case .read(let name), .change(let name, _): name
    case .start: campaign?.name
    }
  }
}

/// Reads what requests about campaigns name.
enum CampaignArguments {
  typealias Failure = Admission.Failure

  /// A campaign's name in a path.
  static func name(_ text: String) throws(Failure) -> String {
    guard CampaignRecord.isName(text) else {
      throw Failure(
        .malformed(
          "name: is not 1 to \(CampaignRecord.longestName) letters, digits, dots, hyphens, underscores",
          field: "name"))
    }
    return text
  }

  /// The campaign in a body, checked as `martlet campaign start` does it.
  static func campaign(
    _ body: UnsafeRawBufferPointer, by key: APIKey, _ reader: RequestReader, _ parser: JSONParser
  ) throws(Failure) -> (CampaignRecord, PayloadWarnings) {
    let campaign: CampaignRecord
    do throws(RecordError) {
      campaign = try CampaignRecord(
        json: body, at: WallClock.milliseconds(), by: key.actor, parser: parser)
      try campaign.checkZone()
    } catch {
      throw refusal(error)
    }
    try demand(campaign, key)
    do throws(RequestError) { return (campaign, try campaign.checkRequest(reader)) } catch {
      let field = error.field.map { "request.\($0.name)" } ?? "request"
      throw Failure(.malformed("request: \(error)", field: field))
    }
  }

  private static func refusal(_ error: RecordError) -> Failure {
    if error.problem.utf8.elementsEqual(CampaignRecord.tooFarAhead.utf8) {
      return Failure(.tooFarAhead("send_at: \(error.problem)", field: "send_at"))
    }
    guard let field = error.field else {
      return Failure(.malformed(error.description))
    }
    let path = error.record == "campaign" ? field : "\(error.record).\(field)"
    return Failure(.malformed("\(path): \(error.problem)", field: path))
  }

  /// The key may send what the campaign sends.
  static func demand(_ campaign: CampaignRecord, _ key: APIKey) throws(Failure) {
    let app = campaign.audience.app
    guard key.maySend(for: app) else { throw Failure(.forbidden(app: app)) }
    // A topic of its own reaches another app's devices.
    guard let topic = campaign.request.given(RequestField.topic.name)?.string, topic != app,
      campaign.audience.type == PushType.mdm.description
    else { return }
    guard key.maySend(for: topic) else { throw Failure(.forbidden(topic: topic)) }
  }
}
