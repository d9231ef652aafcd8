// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@Suite(.serialized) struct DoctorTests {
  private struct Line {
    let status: String
    let subject: String
    let place: String
    let text: String
    let programs: [String]
  }

  private func doctor(
    _ arguments: [String], in folder: TemporaryFolder
  ) throws -> (status: Int32, lines: [Line], output: String) {
    let result = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), ["doctor", "--json"] + arguments, in: folder)
    let lines = result.output.split(separator: "\n").compactMap { text -> Line? in
      guard let root = try? JSONDocument(String(text)).root, let status = root["status"]?.string
      else { return nil }
      return Line(
        status: status, subject: root["subject"]?.string ?? "", place: root["place"]?.string ?? "",
        text: String(text), programs: root["programs"]?.array?.compactMap(\.string) ?? [])
    }
    return (result.status, lines, result.output)
  }

  /// A cluster with every topic, and the programs' settings files in a folder.
  private func deployment(
    _ fixture: KafkaFixture, _ folder: TemporaryFolder, _ more: [String: String] = [:]
  ) throws {
    for topic in TopicNames(prefix: fixture.prefix).all {
      try fixture.broker?.createTopic(BrokerTopic(topic))
    }
    let common = "kafka = \(fixture.configuration.bootstrap)\n"
    let own = [
      "ingest": "", "sender": "gateway = 127.0.0.1:1\nsandbox-gateway = 127.0.0.1:1\nloops = 1\n",
      "feedback": "database = \(folder.file("tokens.sqlite"))\n",
    ]
    for (program, text) in own {
      let prefix = more[program] ?? "topic-prefix = \(fixture.prefix)\n"
      try File.write(folder.file("\(program).properties"), Array((common + prefix + text).utf8))
    }
  }

  @Test
  func `one report of what every program finds with its own file; status 1 with an error`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let folder = TemporaryFolder()
    try deployment(fixture, folder)
    let (status, lines, output) = try doctor(["--settings", folder.path], in: folder)
    #expect(status == 1, "\(output)")
    // Nobody listens where the gateways are said to be; everything else is right.
    let errors = lines.filter { $0.status == "error" }
    #expect(errors.map(\.subject) == ["gateway"], "\(errors.map(\.text))")
    #expect(errors.first?.programs == ["sender"])
    #expect(
      lines.contains {
        $0.subject == "topic" && $0.place == fixture.name("dead-letters")
          && $0.programs == ["ingest", "sender", "feedback"]
      })
    #expect(lines.contains { $0.status == "warning" && $0.place.hasSuffix("signer.properties") })
    #expect(!File.exists(folder.file("tokens.sqlite")), "a check makes no file")
  }

  @Test func `programs that a deployment may do without are checked if they have a settings file`()
    throws
  {
    let fixture = try KafkaFixture(embedded: true)
    let folder = TemporaryFolder()
    try deployment(fixture, folder)
    let common = "kafka = \(fixture.configuration.bootstrap)\ntopic-prefix = \(fixture.prefix)\n"
    let api =
      "keys = \(folder.file("api-keys.json"))\ntls-certificate = \(folder.file("api.pem"))\n"
      + "tls-key = \(folder.file("api-key.pem"))\n"
    let canary = "canary = com.example.app,production,\(PipelineRig.token(1)),1m\n"
    try File.write(folder.file("api.properties"), Array((common + api).utf8))
    try File.write(folder.file("canary.properties"), Array((common + canary).utf8))
    try File.write(folder.file("api-keys.json"), Array("[]".utf8))
    try File.write(folder.file("api.pem"), Array("-----BEGIN CERTIFICATE-----\n".utf8))
    try File.write(folder.file("api-key.pem"), Array("no key".utf8))
    let hooks = folder.file("subscriptions.json")
    try File.write(
      folder.file("webhooks.properties"), Array((common + "subscriptions = \(hooks)\n").utf8))
    let entry = """
      [{"name":"crm","url":"https://a.example","events":["*"],\
      "secrets":["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"]}]
      """
    try File.write(hooks, Array(entry.utf8), mode: 0o600)
    let (_, lines, output) = try doctor(["--settings", folder.path], in: folder)
    func has(_ status: String, _ place: String, _ programs: [String]) -> Bool {
      lines.contains { $0.status == status && $0.place == place && $0.programs == programs }
    }
    #expect(has("warning", folder.file("api-keys.json"), ["api"]), "\(output)")
    #expect(has("error", folder.file("api.pem"), ["api"]), "\(output)")
    #expect(has("ok", fixture.name("requests"), ["ingest", "api", "canary"]), "\(output)")
    #expect(
      has("ok", fixture.name("receipts"), ["ingest", "sender", "webhooks", "canary"]), "\(output)")
    #expect(has("ok", hooks, ["webhooks"]), "\(output)")
  }

  @Test func `of a fresh package no file that a deployment may do without is an error`() throws {
    let folder = TemporaryFolder()
    for program in ["api", "webhooks", "feedback", "scheduler"] {
      let text = try Repository.text("deploy/\(program).properties")
      // Their files lie where no test may write.
      try File.write(
        folder.file("\(program).properties"),
        Array(text.replacing("/etc/martlet", with: "/nonexistent/martlet").utf8))
    }
    let (_, lines, output) = try doctor(["--settings", folder.path], in: folder)
    func warned(_ place: String, _ program: String) -> Bool {
      lines.contains { $0.status == "warning" && $0.place == place && $0.programs == [program] }
    }
    #expect(warned("/nonexistent/martlet/api-keys.json", "api"), "\(output)")
    #expect(warned("/nonexistent/martlet/subscriptions.json", "webhooks"), "\(output)")
    for (program, file) in [("feedback", "tokens.sqlite"), ("scheduler", "schedule.sqlite")] {
      let stateFolder = "/var/lib/martlet-\(program)"
      guard !File.exists(stateFolder) else { continue }
      #expect(warned("\(stateFolder)/\(file)", program), "\(output)")
    }
    let errors = lines.filter { $0.status == "error" && $0.subject == "settings" }
    #expect(errors.isEmpty, "\(errors.map(\.text))")
  }

  /// The image's root is read-only but for a volume, which `TMPDIR` names.
  @Test func `a database that does not exist yet is checked where temporary files are`() throws {
    let folder = TemporaryFolder()
    try File.write(
      folder.file("feedback.properties"),
      Array("database = /var/lib/martlet-nowhere/tokens.sqlite\n".utf8))
    let result = try BuiltProgram.run(
      "/usr/bin/env",
      [
        "TMPDIR=/nonexistent", ChildProcess.sibling("martlet"), "doctor", "--json", "--settings",
        folder.path,
      ], in: folder)
    #expect(result.output.contains("/nonexistent/martlet-doctor-"), "\(result.output)")
  }

  @Test func `programs with different prefixes, and a file that is wrong`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let folder = TemporaryFolder()
    try deployment(fixture, folder, ["ingest": "topic-prefix = other.\n"])
    try File.write(
      folder.file("signer.properties"),
      Array("kafka = a:1\ncredentials = /nonexistent/c.json\n".utf8))
    let (status, lines, output) = try doctor(["--settings", folder.path], in: folder)
    #expect(status == 1)
    #expect(lines.contains { $0.status == "error" && $0.place == "topic-prefix" }, "\(output)")
    #expect(
      lines.contains {
        $0.status == "error" && $0.place.hasPrefix("credentials (") && $0.programs == ["signer"]
      }, "\(output)")
    let missing = lines.filter { $0.place.hasPrefix("other.") && $0.status == "error" }
    #expect(missing.count == 8 && missing.allSatisfy { $0.programs == ["ingest"] })
  }

  @Test func `the gateway's date tells how wrong the clock is, if the gateway sends one`() throws {
    let rig = try PipelineRig()
    let folder = TemporaryFolder()
    func clock(_ flags: [String], skew: String? = nil) throws -> [Line] {
      try rig.startSimulator(flags)
      if let skew { try rig.addGatewayFaults(#"[{"id":"wrong_clock","skew":"\#(skew)"}]"#) }
      let text =
        "kafka = \(rig.kafka)\ngateway = \(rig.gateway)\nsandbox-gateway = \(rig.gateway)\n"
        + "gateway-roots = \(rig.keys)/root.pem\n"
      try File.write(folder.file("sender.properties"), Array(text.utf8))
      let (_, lines, output) = try doctor(["--settings", folder.path], in: folder)
      #expect(rig.stop("apns-simulator") == 0)
      #expect(lines.contains { $0.subject == "gateway" && $0.status == "ok" }, "\(output)")
      return lines.filter { $0.subject == "clock" && $0.place == rig.gateway }
    }
    #expect(try clock([]).isEmpty, "as Apple's gateways")
    #expect(try clock(["--date", "errors"]).map(\.status) == ["ok"])
    let wrong = try clock(["--date", "always"], skew: "-10m")
    #expect(wrong.map(\.status) == ["error"])
    #expect(wrong.first?.text.contains("ahead of the gateway's date") == true)
  }

  @Test func `without files: what options name; without both, nothing was checked`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let folder = TemporaryFolder()
    let files = TemporaryFolder()
    try deployment(fixture, folder)
    // The sender keeps its file: without one it would ask Apple's gateways.
    try File.write(files.file("sender.properties"), try File.read(folder.file("sender.properties")))
    let (_, lines, output) = try doctor(
      [
        "--settings", files.path, "--kafka", fixture.configuration.bootstrap, "--topic-prefix",
        fixture.prefix, "--kafka.consumer.fetch.wait.max.ms=20",
      ], in: folder)
    #expect(
      lines.contains { $0.subject == "topic" && $0.place == fixture.name("devices") }, "\(output)")
    #expect(lines.filter { $0.subject == "topic" && $0.status == "error" }.isEmpty, "\(output)")
    let none = try doctor(["--settings", TemporaryFolder().path], in: folder)
    #expect(none.status == 1 && none.output.contains("no settings file in"), "\(none.output)")
  }
}
