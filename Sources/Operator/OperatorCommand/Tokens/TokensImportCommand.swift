// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings

/// `martlet tokens import FILE`: produces device tokens from a file to `push.devices`.
enum TokensImportCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var file = ""
    var cluster = ClusterSettings()

    @Declared(
      .choice(
        "format", of: ["auto"] + TokenFileFormat.allCases.map(\.rawValue), default: "auto",
        "The file's form: a token in each line (plain), or the lines of martlet tokens list --json (ndjson), which"
          + " convert-tokens makes from exports of other services. auto looks at the first line."))
    fileprivate var formatName: String

    @Declared(.text("app", placeholder: "APP", "The app of tokens for which the file names none."))
    fileprivate var app: String?

    @Declared(
      .choice(
        "environment", of: ["production", "sandbox"], default: "production",
        "The environment of tokens for which the file names none.")) fileprivate var environment:
      String

    @Declared(
      .integer(
        "registered-at", default: 0, in: 0...253_402_300_799_999,
        "Time of registrations for which the file has none, in milliseconds since 1970. Answers of APNs that are"
          + " older than it no longer count, so it is not the time of the import.")) fileprivate
      var registeredAt: Int

    @Declared(.boolean("dry-run", "Read the file and say what is wrong with it; produce nothing."))
    var isDry: Bool

    @Declared(.boolean("strict", "Exit with status 1 if anything in the file cannot be used."))
    var isStrict: Bool

    @Declared(.boolean("json", "Print the summary as one JSON object.")) var isJSON: Bool

    @Declared(CommandSettings.progress) var showsProgress: Bool

    var format: TokenFileFormat? { TokenFileFormat(rawValue: formatName) }
    var defaults: TokenDefaults {
      TokenDefaults(
        app: app, environment: environment == "sandbox" ? .sandbox : .production,
        registeredAt: Int64(registeredAt))
    }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-tokens")
      file = values.operands[0]
      if let app, (try? RequestRules.checkName(app.utf8.span, .app)) == nil {
        throw values.error("app", "\"\(app)\" is not a bundle id")
      }
    }
  }

  static let name = "tokens import"
  static let summary =
    "Registers the device tokens of a file by producing them to the devices topic; invalid tokens of the file go"
    + " to the feedback topic as answers of APNs. Reports every error with its line and field, and continues."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init("FILE", 1...1, "The file; - is standard input."))

  /// Reads the file like an import, and produces nothing.
  static func check(_ settings: Settings, _ context: ServiceContext) -> [Finding] {
    FileCheck.findings(in: settings.file, context, consequence: "leaves them out") {
      source throws(ServiceFailure) in
      let result = try TokenImporter(source, settings, nil, context).run()
      return (result.text, result.problems == 0)
    }
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let source = try LineSource(settings.file) { context.signals.isStopping }
    let result: TokenImportResult
    if settings.isDry {
      result = try TokenImporter(source, settings, nil, context).run()
    } else {
      let cluster = try KafkaCluster(settings.cluster.kafka, context)
      for topic in [settings.cluster.names.devices, settings.cluster.names.feedback] {
        try cluster.demand(
          topic, "nothing was imported: check --topic-prefix, or make it with martlet topics create"
        )
      }
      let output = try TokenProducer(cluster, settings.cluster.names)
      let importer = TokenImporter(source, settings, output, context)
      defer { Audit.note(name, importer.deed, context) }
      result = try importer.run()
    }
    StandardOutput.line(settings.isJSON ? result.json : result.text)
    if result.wasStopped {
      throw context.signals.interrupted("\(settings.file) was not read to its end")
    }
    if result.refused > 0 {
      throw ServiceFailure("\(result.refused) records could not be produced; they are listed above")
    }
    if settings.isStrict && result.problems > 0 {
      throw ServiceFailure("\(result.problems) entries cannot be used")
    }
  }
}

struct TokenImportResult: Sendable, Equatable {
  /// The registrations, removals and invalid-token responses that Kafka has, or would get.
  var devices = 0
  var invalid = 0
  /// The number of unusable entries.
  var problems = 0
  /// The number of records that Kafka rejected permanently.
  var refused = 0
  var milliseconds: UInt64 = 0
  var isDry = false
  var wasStopped = false

  var text: String {
    let tenths = milliseconds / 100
    let rate = milliseconds > 0 ? UInt64(devices + invalid) * 1_000 / milliseconds : 0
    return
      "\(devices) registrations and \(invalid) invalid tokens \(isDry ? "read" : "produced") in"
      + " \(tenths / 10).\(tenths % 10) s (\(rate)/s); \(problems) wrong, \(refused) refused"
      + (isDry ? "; nothing was produced" : "") + (wasStopped ? "; stopped before the end" : "")
  }

  /// The result as JSON; `complete` is false if it was stopped before the end.
  var json: String {
    let object: JSONValue = [
      "devices": .integer(Int64(devices)), "invalid": .integer(Int64(invalid)),
      "problems": .integer(Int64(problems)), "refused": .integer(Int64(refused)),
      "milliseconds": .integer(Int64(milliseconds)),
      "dry_run": .bool(isDry), "complete": .bool(!wasStopped),
    ]
    return String(decoding: object.text, as: UTF8.self)
  }
}
