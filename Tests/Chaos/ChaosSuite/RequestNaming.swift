// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit

/// The `apns-id` of pushes, as ingest derives it.
struct RequestNaming: ~Copyable {
  private let reader = RequestReader(types: .any, lanes: .standard)
  private var naming = NotificationNaming()

  /// - Parameters:
  ///   - request: The id of a request for one device.
  ///   - token: The device's token.
  mutating func id(_ request: String, _ token: String) throws -> NotificationID {
    try Array(request.utf8).withUnsafeBytes { bytes in
      naming.begin(try reader.read(bytes), topic: [], partition: 0, offset: 0)
    }
    return Array(token.utf8).withUnsafeBytes { naming.id($0) }
  }
}
