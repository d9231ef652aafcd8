// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Kafka
import Records
import ServiceKit
import Settings
import TestSupport

@testable import Signer

/// A cluster with the signer's topics, and a folder with keys and a credentials file.
final class SignerFixture {
  let kafka: KafkaFixture
  let folder = TemporaryFolder()
  let names: TopicNames
  let key: SigningKey

  init(
    issuedTo keyID: String = "KEYKEYKEY1", requestPartitions: Int = 1, embedded: Bool = false
  ) throws {
    kafka = try KafkaFixture(embedded: embedded)
    names = TopicNames(prefix: kafka.prefix)
    try kafka.createTopic("provider-tokens", partitions: 1, compacted: true)
    try kafka.createTopic("token-requests", partitions: requestPartitions)
    key = try SigningKey.generate()
    try File.write(folder.file("key.p8"), try key.pem())
    try writeCredentials(keyIDs: [keyID])
  }

  var credentialsPath: String { folder.file("credentials.json") }

  func writeCredentials(
    keyIDs: [String] = ["KEYKEYKEY1"], keyFile: String = "key.p8",
    apps: [String] = ["com.example.app"]
  ) throws {
    let entries = keyIDs.enumerated().map { number, keyID in
      // Of several keys each has apps of its own.
      let own = number == 0 ? apps : ["com.example.app\(number)"]
      let list = own.map { "\"\($0)\"" }.joined(separator: ",")
      return """
        {"key_id":"\(keyID)","team_id":"TEAMTEAM01","environment":"any","apps":[\(list)],\
        "key_file":"\(keyFile)"}
        """
    }
    try File.write(credentialsPath, Array("[\(entries.joined(separator: ","))]".utf8))
  }

  /// The settings that these flags give, on this fixture's cluster.
  func values(_ more: [String] = []) throws -> SettingValues {
    try SignerService.values(
      [
        "--kafka", kafka.configuration.bootstrap, "--topic-prefix", kafka.prefix,
        "--credentials", credentialsPath,
        "--kafka.session.timeout.ms=\(KafkaFixture.sessionMilliseconds)",
      ] + more)
  }

  /// - Parameter change: What happens between the reading of the settings and the start.
  func start(
    _ more: [String] = [], after change: () throws -> Void = {}
  ) throws -> RunningService {
    let context = ServiceContext(try values(more), name: SignerService.name)
    let settings = try SignerService.settings(context.values)
    try change()
    return try RunningService(context, settings, SignerService.run)
  }

  /// Every token on the topic, once there are so many records.
  func tokens(atLeast count: Int) throws -> [ProviderTokenRecord] {
    _ = try kafka.read(names.providerTokens, count: count)
    return try kafka.configuration.readAll(names.providerTokens).compactMap(\.value).map { value in
      try Array(value.utf8).withUnsafeBytes { bytes in
        try ProviderTokenRecord(bytes, parser: JSONParser())
      }
    }
  }

  /// Writes a key file, and returns the flags that name it and what they make.
  func seal(_ key: String, file: String = "token-key") throws -> (flags: [String], seal: TokenSeal)
  {
    try File.write(folder.file(file), Array(key.utf8))
    let flags = ["--token-key", folder.file(file)]
    return (flags, try TokenSeal(values(flags)))
  }

  /// The committed offset of the signers' group.
  func committed() throws -> Int64? {
    let admin = try KafkaAdmin(kafka.configuration)
    defer { admin.close() }
    let partition = TopicPartition(topic: names.tokenRequests, partition: 0)
    return try admin.groupOffsets(
      names.group(.signer), [partition], timeoutMilliseconds: 30_000
    ).first?.offset
  }

  func publish(_ record: ProviderTokenRecord) throws {
    try publish(key: record.credential, value: String(decoding: record.value, as: UTF8.self))
  }

  func publish(key: String, value: String) throws {
    try kafka.produce(names.providerTokens, key: key, value: value)
  }
}

extension RunningService {
  var isOwner: Bool { context.counters.sums.contains { $0.name == "owner" && $0.value == 1 } }
}
