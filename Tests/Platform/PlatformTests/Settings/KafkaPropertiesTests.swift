// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Settings

@Suite struct KafkaPropertiesTests {
  private func read(
    _ arguments: [String], environment: [String: String] = [:], file: String = ""
  ) throws -> KafkaProperties {
    let flags = try CommandLineFlags(arguments, for: sampleTable)
    let properties = try PropertiesFile(parsing: file, path: "m.properties")
    return try sampleTable.read(flags, environment: environment, file: properties).kafka
  }

  @Test func `any property passes through from each source`() throws {
    let kafka = try read(
      ["--kafka.linger.ms=5"], environment: ["MARTLET_KAFKA_SECURITY_PROTOCOL": "sasl_ssl"],
      file: "kafka.socket.keepalive.enable = true")
    let pairs = kafka.common.map { "\($0.name)=\($0.value)" }
    #expect(pairs == ["socket.keepalive.enable=true", "security.protocol=sasl_ssl", "linger.ms=5"])
  }

  @Test func `a stronger source replaces a property of the same name`() throws {
    let kafka = try read(
      ["--kafka.linger.ms", "5"], environment: ["MARTLET_KAFKA_LINGER_MS": "6"],
      file: "kafka.linger.ms = 7")
    #expect(kafka.common.map(\.value) == ["5"])
    #expect(kafka.common.map(\.source) == [.flag])
  }

  @Test func `a stronger source also wins where librdkafka has two names for a property`() throws {
    let kafka = try read(
      ["--kafka.linger.ms", "5"], environment: ["MARTLET_KAFKA_QUEUE_BUFFERING_MAX_MS": "6"],
      file: "kafka.linger.ms = 7")
    // In this order they are given to librdkafka.
    #expect(kafka.common.map(\.value) == ["6", "5"])
  }

  @Test func `one side's properties reach only that side`() throws {
    let kafka = try read(
      ["--kafka.consumer.fetch.wait.max.ms=10", "--kafka.producer.linger.ms=2"],
      environment: ["MARTLET_KAFKA_CONSUMER_CHECK_CRCS": "true"])
    #expect(kafka.common.isEmpty)
    #expect(kafka.consumer.map(\.name) == ["check.crcs", "fetch.wait.max.ms"])
    #expect(kafka.producer.map(\.name) == ["linger.ms"])
  }

  @Test func `two underscores stand for one in the property's name`() {
    #expect(KafkaProperties.name(environment: "MARTLET_KAFKA_SSL__KEY") == "kafka.ssl_key")
    #expect(KafkaProperties.name(environment: "MARTLET_KAFKA_") == nil)
    #expect(KafkaProperties.name(environment: "MARTLET_KAFKA") == nil)
  }

  @Test func `the bootstrap setting is not mistaken for a property`() throws {
    let flags = try CommandLineFlags(["--kafka", "a:1"], for: sampleTable)
    let values = try sampleTable.read(flags, environment: ["MARTLET_KAFKA": "b:2"])
    #expect(values.written("kafka") == "a:1")
    #expect(values.kafka == KafkaProperties())
  }

  @Test func `the flags for another process carry every layer`() throws {
    let kafka = try read(["--kafka.a=1", "--kafka.consumer.b=2", "--kafka.producer.c=3"])
    #expect(kafka.flags == ["--kafka.a=1", "--kafka.consumer.b=2", "--kafka.producer.c=3"])
    #expect(try read(kafka.flags) == kafka)
  }

  @Test func `a table without Kafka refuses properties`() {
    let table = SettingTable([])
    #expect(throws: SettingErrors.self) {
      try CommandLineFlags(["--kafka.linger.ms=5"], for: table)
    }
  }
}
