// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import Synchronization

public enum OpenClients {
  /// One client, which may end while a request of it is under way.
  private final class Entry: Sendable {
    /// nil when the client has ended.
    let address: Mutex<UInt?>

    init(_ address: UInt) { self.address = Mutex(address) }
  }

  private static let entries = Mutex<[UInt: Entry]>([:])

  static func opened(_ client: OpaquePointer) {
    let address = UInt(bitPattern: client)
    entries.withLock { $0[address] = Entry(address) }
  }

  /// Waits for a query that is under way.
  static func closes(_ client: OpaquePointer) {
    let entry = entries.withLock { $0.removeValue(forKey: UInt(bitPattern: client)) }
    entry?.address.withLock { $0 = nil }
  }

  /// Sends a query through each client.
  ///
  /// - Returns: librdkafka's names of the clients that reach no broker within the timeout, which applies to each.
  public static func withoutBroker(timeoutMilliseconds: Int32) -> Set<String> {
    let all = entries.withLock { Array($0.values) }
    return Set(
      all.compactMap { entry in
        entry.address.withLock { address in
          address.flatMap(OpaquePointer.init(bitPattern:)).flatMap {
            findsBroker($0, timeoutMilliseconds) ? nil : String(cString: rd_kafka_name($0))
          }
        }
      })
  }

  private static func findsBroker(_ client: OpaquePointer, _ timeoutMilliseconds: Int32) -> Bool {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(client, 0, nil, &metadata, timeoutMilliseconds)
    if let metadata { rd_kafka_metadata_destroy(metadata) }
    return code != RD_KAFKA_RESP_ERR__TRANSPORT && code != RD_KAFKA_RESP_ERR__TIMED_OUT
  }
}
