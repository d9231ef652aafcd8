// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import EventLoop
import Kafka
import Records

/// The tokens known to be invalid: follows `push.invalid-tokens` from its beginning.
///
/// Owner: the ingest loop.
final class InvalidTokens {
  private let table: KafkaTable
  private let hash = KeyHash.random()
  private var keys: KeySet
  private var key = ByteBuffer(capacity: 1_024)
  /// `:<app>:<environment>` of the request at hand; empty until it is asked for.
  private var suffix = ByteBuffer(capacity: 512)

  init(
    _ configuration: KafkaConfiguration, topic: String, partitions: Int, limit: Int, wakeup: Wakeup
  ) throws(KafkaError) {
    table = try KafkaTable(configuration, topic: topic, partitions: partitions, wakeup: wakeup)
    keys = KeySet(limit: limit)
  }

  var count: Int { keys.count }
  var isCaughtUp: Bool { table.isCaughtUp }
  /// Tokens that found no room.
  var refused: Int { keys.refused }

  /// Takes in what has been written since.
  func follow(timeoutMilliseconds: Int32 = 0) {
    // After the topic was read again from its start, only what is told again holds.
    table.poll(
      timeoutMilliseconds: timeoutMilliseconds, forget: { keys.removeAll() },
      { key, value in
        let hashed = hash.value(key)
        if value == nil { keys.remove(hashed) } else { keys.insert(hashed) }
      })
  }

  /// The tokens asked about from now on belong to another request.
  func begin() { suffix.removeAll() }

  private func writeSuffix(of request: borrowing PushRequest) {
    suffix.append(UInt8(ascii: ":"))
    suffix.append(request.app)
    suffix.append(UInt8(ascii: ":"))
    suffix.append(request.environment.name)
  }

  /// Whether the token (lower case) is known to be invalid for the request's app and environment.
  func contains(_ token: UnsafeRawBufferPointer, of request: borrowing PushRequest) -> Bool {
    if keys.count == 0 { return false }
    if suffix.isEmpty { writeSuffix(of: request) }
    key.removeAll()
    key.append(token)
    key.append(suffix.bytes)
    return keys.contains(hash.value(key.bytes))
  }

  func close() { table.close() }
}
