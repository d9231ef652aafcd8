// SPDX-License-Identifier: Apache-2.0
import Settings
import Testing

/// A table with one setting of each kind.
let sampleTable = SettingTable(
  [
    .init("kafka", .endpoints, default: "localhost:9092", "The cluster."),
    .init("loops", .integer(1...64), default: "1", "Threads."),
    .init("drain-timeout", .duration(0...600_000), default: "30s", "How long to drain."),
    .init("budget", .bytes(0...Int.max), default: "64MiB", "Memory."),
    .init("fast", .boolean, default: "false", "Without checks."),
    .init("verify", .boolean, default: "true", "With checks."),
    .init("profile", .choice(["faithful", "quick"]), default: "faithful", "Behaviour."),
    .init("apps", .list, "Bundle ids."),
    .init("roots", .path(.input), "Trust anchors."),
    .init("password", .text, secret: true, "Of the key file."),
  ], kafkaProperties: true)

/// Settings from all their sources, with `SettingError` and `Suggestion`.
@Suite struct SettingReaderTests {
  private func read(
    _ arguments: [String] = [], environment: [String: String] = [:], file: String? = nil,
    table: SettingTable = sampleTable
  ) throws(SettingErrors) -> SettingValues {
    var properties: PropertiesFile?
    if let file { properties = try PropertiesFile(parsing: file, path: "m.properties") }
    let flags = try CommandLineFlags(arguments, for: table)
    return try table.read(flags, environment: environment, file: properties)
  }

  private func refusal(
    _ arguments: [String] = [], environment: [String: String] = [:], file: String? = nil,
    table: SettingTable = sampleTable
  ) -> String {
    do throws(SettingErrors) {
      _ = try read(arguments, environment: environment, file: file, table: table)
      return ""
    } catch {
      return error.description
    }
  }

  @Test func `without any source every setting has its default`() throws {
    let values = try read()
    let written = sampleTable.settings.map { values.written($0.name) }
    #expect(
      written == [
        "localhost:9092", "1", "30s", "64MiB", "false", "true", "faithful", nil, nil, nil,
      ])
    #expect(!values.isGiven("loops"))
  }

  @Test func `a list that is given again goes on`() throws {
    #expect(try read(["--apps", "a,b", "--apps=c"]).written("apps") == "a,b,c")
    #expect(try read(["--loops", "4", "--loops", "5"]).written("loops") == "5")
  }

  @Test func `a flag wins over the environment, that over the file, that over the default`() throws
  {
    let file = "loops = 2\n"
    let environment = ["MARTLET_LOOPS": "3"]
    #expect(try read(file: file).written("loops") == "2")
    #expect(try read(environment: environment, file: file).written("loops") == "3")
    let all = try read(["--loops", "4"], environment: environment, file: file)
    #expect(all.written("loops") == "4")
    #expect(all.source("loops") == .flag)
    #expect(all.isGiven("loops"))
  }

  @Test
  func `flags take their value after a blank or an equals sign, and the last one counts`() throws {
    #expect(try read(["--loops=5"]).written("loops") == "5")
    #expect(try read(["--loops", "5", "--loops", "6"]).written("loops") == "6")
    #expect(try read(["--password=a=b"]).written("password") == "a=b")
  }

  @Test func `a boolean flag needs no value and has a negative`() throws {
    #expect(try read(["--fast"]).written("fast") == "true")
    #expect(try read(["--fast=false"]).written("fast") == "false")
    #expect(try read(["--no-verify"]).written("verify") == "false")
    #expect(refusal(["--no-loops"]).contains("there is no such setting"))
  }

  @Test func `the built-in flags are seen and do not need a valid rest`() throws {
    #expect(try CommandLineFlags(["--help"], for: sampleTable).isHelp)
    #expect(try CommandLineFlags(["-h", "--nonsense"], for: sampleTable).isHelp)
    #expect(try CommandLineFlags(["--version"], for: sampleTable).isVersion)
    #expect(try CommandLineFlags(["-V"], for: sampleTable).isVersion)
    #expect(try CommandLineFlags(["--check-config"], for: sampleTable).isCheckConfig)
    #expect(try CommandLineFlags(["--config", "f"], for: sampleTable).configPath == "f")
    #expect(try CommandLineFlags(["--config=f"], for: sampleTable).configPath == "f")
  }

  @Test func `an unknown flag is refused with the nearest name`() {
    #expect(
      refusal(["--lops", "3"]).hasPrefix(
        "--lops: there is no such setting (did you mean --loops?)"))
    #expect(refusal(["--drain-timeuot=3s"]).contains("did you mean --drain-timeout?"))
    #expect(!refusal(["--zzzzzz"]).contains("did you mean"))
    #expect(refusal(["-x"]).contains("-x: there is no such setting"))
  }

  @Test func `a flag without its value is refused`() {
    #expect(refusal(["--loops"]) == "loops (flag): needs a value")
  }

  @Test func `an unknown MARTLET variable is passed over with a warning that has the nearest name`()
    throws
  {
    let values = try read(environment: ["MARTLET_LOPS": "3", "MARTLET_LOOPS": "4"])
    #expect(values.written("loops") == "4")
    #expect(
      values.warnings.map(\.description) == [
        "environment MARTLET_LOPS: this program has no such setting (did you mean MARTLET_LOOPS?);"
          + " the variable is ignored"
      ])
    let ignored = ["PATH": "/bin", "MARTLET_CONFIG": "f", "MARTLET_TEST_KAFKA": "a:1"]
    #expect(try read(environment: ignored).warnings.isEmpty)
  }

  @Test func `a variable of another command of the program is passed over without a warning`()
    throws
  {
    let table = SettingTable([.init("name", .text, "Whose.")])
    let given = [
      "MARTLET_LOOPS": "4", "MARTLET_KAFKA": "a:1", "MARTLET_KAFKA_LINGER_MS": "6",
      "MARTLET_KAFKA_PORT": "tcp://10.0.0.7:1", "MARTLET_LOPS": "4",
    ]
    let flags = try CommandLineFlags([], for: table)
    let values = try table.read(flags, environment: given) {
      $0 == "linger.ms"
    } isOfOthers: {
      sampleTable.knows(variable: $0) { $0 == "linger.ms" }
    }
    #expect(
      values.warnings.map { $0.source?.description } == [
        "environment MARTLET_KAFKA_PORT", "environment MARTLET_LOPS",
      ])
    #expect(try table.read(flags, environment: given).warnings.count == given.count)
  }

  @Test
  func `what Kubernetes adds for services named martlet-sender and martlet-kafka stops nothing`()
    throws
  {
    let added = [
      "MARTLET_SENDER_PORT": "tcp://10.0.0.7:9100", "MARTLET_SENDER_SERVICE_HOST": "10.0.0.7",
      "MARTLET_SENDER_PORT_9100_TCP_PROTO": "tcp", "MARTLET_KAFKA_SERVICE_HOST": "10.0.0.8",
      "MARTLET_KAFKA_PORT": "tcp://10.0.0.8:9092", "MARTLET_KAFKA_LINGER_MS": "6",
      "MARTLET_KAFKA_CONSUMER_CHECK_CRCS": "true",
    ]
    let flags = try CommandLineFlags([], for: sampleTable)
    let values = try sampleTable.read(flags, environment: added) {
      ["linger.ms", "check.crcs"].contains($0)
    }
    #expect(values.kafka.common.map(\.name) == ["linger.ms"])
    #expect(values.kafka.consumer.map(\.name) == ["check.crcs"])
    #expect(values.warnings.count == 5)
    #expect(values.warnings.allSatisfy { !$0.description.contains("10.0.0.") })
  }

  @Test func `flags and files stay strict beside an unknown variable`() {
    let text = refusal(
      ["--lops=3"], environment: ["MARTLET_OTHER": "1"], file: "drain-timeuot = 3s")
    #expect(text == "--lops: there is no such setting (did you mean --loops?); --help lists them")
    #expect(refusal(environment: ["MARTLET_OTHER": "1"], file: "lops = 3").contains("loops"))
  }

  @Test func `a name of Kafka's holds what Kafka takes`() throws {
    let table = SettingTable([.init("prefix", .kafkaName(longest: 5), "Of topics.")])
    #expect(try read(["--prefix=a.B-_"], table: table).written("prefix") == "a.B-_")
    for wrong in ["a b", "a/b", "ä", "abcdef", "a:b"] {
      #expect(refusal(["--prefix", wrong], table: table).contains("must be at most 5 letters"))
    }
  }

  @Test func `an unknown name in the file is refused with its line`() {
    #expect(
      refusal(file: "# comment\n\nlops = 3\n")
        == "lops (m.properties:3): there is no such setting (did you mean loops?)")
  }

  @Test func `a wrong value names the setting, its source and what would be right`() {
    #expect(
      refusal(["--loops=0"]) == "loops (flag): must be a whole number from 1 to 64, not \"0\"")
    #expect(
      refusal(environment: ["MARTLET_LOOPS": "x"])
        == "loops (environment MARTLET_LOOPS): must be a whole number from 1 to 64, not \"x\"")
    #expect(
      refusal(file: "loops = many")
        == "loops (m.properties:1): must be a whole number from 1 to 64, not \"many\"")
    #expect(refusal(["--loops="]) == "loops (flag): must not be empty")
  }

  @Test func `all errors are reported at once`() {
    let text = refusal(["--loops=0", "--budget=x"], environment: ["MARTLET_FAST": "?"])
    #expect(text.split(separator: "\n").count == 3)
  }

  @Test func `a file line must be name = value, and no name stands twice`() {
    #expect(refusal(file: "loops\n") == "m.properties:1: must be a line of the form name = value")
    #expect(
      refusal(file: "loops=1\nloops=2")
        == "loops (m.properties:2): occurs twice; the first is on line 1")
  }

  @Test func `a file may have Windows line ends and blanks around names and values`() throws {
    #expect(try read(file: "  loops =  7 \r\nfast=true\r\n").written("loops") == "7")
    #expect(try read(file: "\u{FEFF}loops = 7\r\n").written("loops") == "7")
  }

  @Test func `a required setting that is missing says how to give it`() {
    let table = SettingTable([.init("credentials", .path(.input), required: true, "Keys.")])
    #expect(
      refusal(table: table)
        == "credentials: is required; give --credentials FILE or MARTLET_CREDENTIALS")
  }

  @Test func `operands are counted`() throws {
    let table = SettingTable([], operands: .init("FILE", 1...1, "NDJSON to import."))
    #expect(try read(["f"], table: table).operands == ["f"])
    #expect(try read(["-"], table: table).operands == ["-"])
    #expect(try read(["--", "--odd"], table: table).operands == ["--odd"])
    #expect(refusal(table: table).hasPrefix("FILE is missing"))
    #expect(refusal(["a", "b"], table: table).hasPrefix("FILE occurs too often"))
    #expect(refusal(["a"]).contains("takes no operand"))
  }

  @Test func `secrets are never shown, neither in errors nor in the report`() throws {
    let table = SettingTable([.init("pin", .integer(1...2), secret: true, "Pin.")])
    #expect(!refusal(["--pin=4711"], table: table).contains("4711"))
    let values = try read(["--password", "hunter2", "--kafka.sasl.password=hunter3"])
    let report = values.report.joined(separator: "\n")
    #expect(!report.contains("hunter"))
    #expect(report.contains("password = (set) (flag)"))
    #expect(report.contains("kafka.sasl.password = (set) (flag)"))
    #expect(KafkaProperties.isSecret("sasl.oauthbearer.assertion.private.key.passphrase"))
  }

  @Test func `the report shows every value with its source`() throws {
    let report = try read(["--loops=2"], file: "drain-timeout = 90s").report
    #expect(report.contains("loops = 2 (flag)"))
    #expect(report.contains("drain-timeout = 90s (m.properties:1)"))
    #expect(report.contains("budget = 64MiB (default)"))
  }
}
