// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Records

extension BodyFacts {
  /// Parses a body; all defaults if it is not JSON or was not kept.
  init(_ body: [UInt8]?) {
    self.init()
    guard let body, let aps = try? JSONDocument(body).root["aps"] else { return }
    isSilent =
      aps["content-available"]?.int == 1
      && ["alert", "badge", "sound"].allSatisfy { aps[$0]?.isNull ?? true }
    event = aps["event"]?.string.flatMap { ActivityEvent(rawValue: $0) }
    timestamp = aps["timestamp"]?.int
  }
}
