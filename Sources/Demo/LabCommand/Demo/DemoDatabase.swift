// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Store

/// The rows that feedback wrote, read back from its files.
enum DemoDatabase {
  /// The devices that are invalid now.
  static func invalidTokens(_ path: String) throws -> Set<DemoGateway.Device> {
    guard File.exists(path) else { return [] }
    let reader = try TokenStoreReader(path)
    return Set(
      try reader.invalidDevices().map {
        DemoGateway.Device(token: $0.device.token, app: $0.device.app)
      })
  }

  /// A file's text; empty when it is not there yet.
  static func text(_ path: String) -> String {
    (try? File.read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
