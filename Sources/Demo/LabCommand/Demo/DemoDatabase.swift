// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Store

/// Reads back the rows that feedback wrote.
enum DemoDatabase {
  static func invalidTokens(_ path: String) throws -> Set<DemoGateway.Device> {
    guard File.exists(path) else { return [] }
    let reader = try TokenStoreReader(path)
    return Set(
      try reader.invalidDevices().map {
        DemoGateway.Device(token: $0.device.token, app: $0.device.app)
      })
  }

  /// A file's text; empty if it does not exist yet.
  static func text(_ path: String) -> String {
    (try? File.read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
