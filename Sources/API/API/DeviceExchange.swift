// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import HTTPServer
import Records
import Store

/// A request about devices or one notification on its way: a change that Kafka is to acknowledge, or a question to the
/// database.
final class DeviceExchange {
  enum Kind {
    /// A registration, whose body says the rest.
    case register(token: String)
    case remove(DeviceKey)
    /// The cancellation of a scheduled request.
    case cancel(ScheduleKey)
    case ask(QueryWorker.Question)

    /// True if a change removes the device; nil for what changes none.
    var isRemoval: Bool? {
      switch self {
      case .register: false
      case .remove: true
      case .cancel, .ask: nil
      }
    }

    var isQuestion: Bool { if case .ask = self { true } else { false } }
  }

  let exchange: StreamExchange
  let kind: Kind
  /// As it was when the request began.
  let key: APIKey
  var body = ByteBuffer(capacity: 512)
  var number: UInt64 = 0
  /// Devices that are forgotten when Kafka has the records.
  var forgotten = 0
  /// Records that Kafka has not answered.
  var unacknowledged = 0
  /// Said when Kafka has all of them.
  var success = HTTPResponse(
    status: 202, contentType: "application/json", body: .bytes(Array(#"{"status":202}"#.utf8)))
  /// When it is given up (monotonic milliseconds).
  var deadline = UInt64.max

  init(_ exchange: StreamExchange, _ kind: Kind, _ key: APIKey) {
    self.exchange = exchange
    self.kind = kind
    self.key = key
  }
}

/// The requests about devices that wait for Kafka or for the database, by number.
struct DeviceExchanges {
  /// Marks the tags of their records among those of notifications.
  private static let mark: UInt = 1 << 63

  private var open: [UInt64: DeviceExchange] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { open.isEmpty }

  mutating func insert(_ exchange: DeviceExchange) {
    last += 1
    exchange.number = last
    open[last] = exchange
  }

  /// The number of questions of a key that wait.
  func questions(of key: APIKey) -> Int {
    open.values.count { $0.key.name == key.name && $0.kind.isQuestion }
  }

  /// Kafka has answered for a record.
  ///
  /// - Returns: the request if that decides it: the last one is acknowledged, or one is not.
  mutating func answered(_ number: UInt64, isAcknowledged: Bool) -> DeviceExchange? {
    guard let exchange = open[number] else { return nil }
    exchange.unacknowledged -= 1
    return exchange.unacknowledged == 0 || !isAcknowledged ? take(number) : nil
  }

  mutating func take(_ number: UInt64) -> DeviceExchange? { open.removeValue(forKey: number) }

  static func tag(_ number: UInt64) -> UInt { mark | UInt(number) }

  static func number(ofTag tag: UInt) -> UInt64? {
    tag & mark == 0 ? nil : UInt64(tag & ~mark)
  }

  /// Takes those whose time is up.
  mutating func drainLate(now: UInt64) -> [DeviceExchange] {
    let late = open.values.filter { now >= $0.deadline }
    for exchange in late { open[exchange.number] = nil }
    return late
  }
}
