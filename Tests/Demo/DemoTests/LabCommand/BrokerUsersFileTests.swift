// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import LabCommand

/// `martlet broker --users FILE`, and what its settings refuse.
@Suite struct BrokerUsersFileTests {
  private let folder = TemporaryFolder()

  private func settings(_ text: String, mode: UInt32 = 0o600) throws -> BrokerCommand.Settings {
    let file = folder.file("users")
    try File.write(file, Array(text.utf8), mode: mode)
    return try BrokerCommand.settings(BrokerCommand.values(["--users", file]))
  }

  @Test func `the users of the file are the broker's`() throws {
    KafkaLog.silence()
    let settings = try settings("# one user\nuser ann word\nread topic things\ndescribe cluster\n")
    let broker = try EmbeddedBroker([.init("things", partitions: 1)], access: settings.access)
    func high(_ password: String, within milliseconds: Int32) throws -> Int64 {
      var configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "test")
      configuration.common = [
        ("security.protocol", "sasl_plaintext"), ("sasl.mechanisms", "PLAIN"),
        ("sasl.username", "ann"), ("sasl.password", password),
      ]
      let admin = try KafkaAdmin(configuration)
      defer { admin.close() }
      let things = TopicPartition(topic: "things", partition: 0)
      return try admin.watermarks(things, timeoutMilliseconds: milliseconds).high
    }
    #expect(try high("word", within: 30_000) == 0)
    #expect(throws: KafkaError.self) { try high("other", within: 3_000) }
  }

  @Test func `a file that others may read, or with a wrong line, is refused by its setting`() throws
  {
    for (text, mode, problem) in [
      ("user ann word", 0o644, "read"), ("user ann", 0o600, "line 1: expected user NAME PASSWORD"),
      ("user ann word\nfly topic a", 0o600, "line 2: expected OPERATION"),
      ("read topic a", 0o600, "line 1: expected user NAME PASSWORD before"), ("", 0o600, "no user"),
    ] {
      let errors = #expect(throws: SettingErrors.self) { try settings(text, mode: UInt32(mode)) }
      let told = "\(try #require(errors))"
      #expect(told.contains("users") && told.contains(problem) && !told.contains("word"), "\(told)")
    }
  }

  @Test func `there must be a port for each broker`() throws {
    let enough = try BrokerCommand.values(["--port", "65534", "--brokers", "2"])
    #expect(try BrokerCommand.settings(enough).port == 65_534)
    let tooFew = try BrokerCommand.values(["--port", "65535", "--brokers", "2"])
    let errors = #expect(throws: SettingErrors.self) { try BrokerCommand.settings(tooFew) }
    let told = "\(try #require(errors))"
    #expect(told.contains("port"), "\(told)")
  }
}
