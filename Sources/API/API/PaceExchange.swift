// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import Contract
import HTTPServer
import Identity
import JSON
import Records

/// A request about paces on its way: a change that Kafka is to acknowledge, or a question.
final class PaceExchange: WaitingExchange {
  static let mark: UInt = 1 << 61

  enum Kind {
    case list
    case read(PaceSubject)
    /// Its body says the rate.
    case set(PaceSubject)
    case clear(PaceSubject)

    var subject: PaceSubject? {
      switch self {
      case .list: nil
      case .read(let subject), .set(let subject), .clear(let subject): subject
      }
    }

    var isChange: Bool {
      switch self {
      case .list, .read: false
      case .set, .clear: true
      }
    }
  }

  let exchange: StreamExchange
  let kind: Kind
  /// As it was when the request began.
  let key: APIKey
  var body = ByteBuffer(capacity: 256)
  /// As text, for the log; of a change that Kafka is to acknowledge.
  var rate = "none"
  /// When it is given up (monotonic milliseconds).
  var deadline = UInt64.max

  init(_ exchange: StreamExchange, _ kind: Kind, _ key: APIKey) {
    self.exchange = exchange
    self.kind = kind
    self.key = key
  }
}

/// Reads what requests about paces name: in the path, in the query, in a body.
enum PaceArguments {
  typealias Failure = Admission.Failure

  private static func refuse(_ detail: String, _ field: String) -> Failure {
    Failure(.malformed("\(field): \(detail)", field: field))
  }

  /// The subject that a path and a query name.
  ///
  /// - Parameters:
  ///   - key: a group is of its app, if it has one and the query names none.
  ///   - query: the value of a query's argument.
  static func subject(
    _ kind: PaceSubject.Kind, _ name: String, _ key: APIKey, _ lanes: Lanes,
    _ query: (String) -> String?
  ) throws(Failure) -> PaceSubject {
    let environment = try DeviceArguments.environment(query("environment"))
    guard environment == nil || kind.isOfApp else {
      throw refuse("a \(kind.rawValue) has none", "environment")
    }
    var type = PushType.background
    if let text = query("push_type") {
      guard kind == .device else { throw refuse("only a device's pace has one", "push_type") }
      guard let known = PushType(text.utf8.span) else {
        throw refuse("\(text) is not a push type", "push_type")
      }
      type = known
    }
    var app = query("app")
    guard app == nil || kind == .group else {
      throw refuse("only a group has one beside it", "app")
    }
    if kind == .group, app == nil {
      guard key.apps.count == 1, let only = key.apps.first, only != "*" else {
        throw refuse("is required: a group is of an app", "app")
      }
      app = only.text
    }
    guard kind != .lane || lanes.find(name) != nil else {
      throw refuse("\(name) is none of --lanes", "name")
    }
    do throws(PaceSubject.Problem) {
      return try PaceSubject(kind, name, of: app, environment ?? .production, type)
    } catch {
      throw refuse("\(error)", "name")
    }
  }

  /// The rate and the reason in a body.
  static func change(
    _ body: UnsafeRawBufferPointer, of subject: PaceSubject, _ parser: JSONParser
  ) throws(Failure) -> (rate: PaceRate, reason: String?) {
    guard let object = (try? parser.parse(Array(body)))?.object, object.duplicateKey == nil else {
      throw Failure(.malformed("the body is not a JSON object"))
    }
    if let unknown = object.members.first(where: { !["rate", "reason"].contains($0.key) }) {
      throw refuse("is not a member of a pace", unknown.key)
    }
    guard let rate = object["rate"]?.string.flatMap({ PaceRate($0) }) else {
      throw refuse(
        "is no rate: a number from 1 to \(PaceRate.most), and /s, /m, /h or /d", "rate")
    }
    do throws(PaceSubject.Problem) { try subject.check(rate) } catch {
      throw refuse("\(error)", "rate")
    }
    guard let given = object["reason"], !given.isNull else { return (rate, nil) }
    guard let reason = given.string, RequestRules.isText(reason.utf8.span, most: longestReason)
    else {
      throw refuse("is no text of 1 to \(longestReason) bytes without control characters", "reason")
    }
    return (rate, reason)
  }

  /// Bytes of a reason.
  static let longestReason = 256
}
