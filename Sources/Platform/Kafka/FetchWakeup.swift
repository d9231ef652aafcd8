// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import Contract
internal import Glibc

/// Makes a consumer check which of its partitions have room for more records (`RefillMark`).
///
/// librdkafka has no function for that, but it wakes its broker threads when it is given SASL credentials, so it is
/// given those it already has. Sends nothing; any thread may call it until the client ends.
struct FetchWakeup: Sendable {
  nonisolated(unsafe) private let client: OpaquePointer
  private let username: String
  private let password: String
  private let limits: (records: Int, bytes: Int)

  /// nil where it is not needed, because librdkafka's own pause can be set; and for a client that authenticates with
  /// Kerberos, where a user name means something else: librdkafka then checks once per second.
  init?(
    _ client: OpaquePointer, _ properties: [KafkaConfiguration.Property],
    hasOwnPause: Bool = KafkaConfiguration.hasFetchBackoff
  ) {
    if hasOwnPause { return nil }
    func value(_ names: String...) -> String? {
      properties.last { names.contains($0.name) }?.value
    }
    if value("security.protocol")?.lowercased().hasPrefix("sasl") == true {
      let mechanism = value("sasl.mechanisms", "sasl.mechanism") ?? "GSSAPI"
      if mechanism == "GSSAPI" { return nil }
    }
    guard let records = value("queued.min.messages"),
      let kilobytes = value("queued.max.messages.kbytes")
    else { return nil }
    self.client = client
    username = value("sasl.username") ?? ""
    password = value("sasl.password") ?? ""
    // Parsed as librdkafka parses numbers: "0x100" is one.
    limits = (strtol(records, nil, 0), strtol(kilobytes, nil, 0) << 10)
  }

  func makeMark() -> RefillMark { RefillMark(records: limits.records, bytes: limits.bytes) }

  func wake() {
    if let error = rd_kafka_sasl_set_credentials(client, username, password) {
      rd_kafka_error_destroy(error)
    }
  }
}
