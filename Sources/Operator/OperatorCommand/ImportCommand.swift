// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings

/// `martlet import FILE`: produces requests from a file to `push.requests`.
enum ImportCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var file = ""
    var cluster = ClusterSettings()

    @Declared(
      .boolean(
        "strict", "Exit with status 1 if any line is not a valid request, or has an invalid token.")
    )
    var isStrict: Bool

    @Declared(CommandSettings.isJSON) var isJSON: Bool
    @Declared(CommandSettings.progress) var showsProgress: Bool

    @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]
    var pushTypes = PushTypes.builtIn

    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    var lanes = Lanes.standard

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-import")
      file = values.operands[0]
      pushTypes = try PushTypes(values)
      lanes = try Lanes(values)
    }
  }

  static let name = "import"
  static let summary =
    "Produces the lines of a file (NDJSON, one request per line) to the requests topic, unchanged."
    + " An invalid request is produced too: it becomes a dead letter and is reported."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init(
      "FILE", 1...1,
      "The file; - is standard input. A record's key is the first device token of its line, or none if the"
        + " line cannot be parsed."))

  /// Reads the file like an import, and produces nothing.
  static func check(_ settings: Settings, _ context: ServiceContext) -> [Finding] {
    FileCheck.findings(in: settings.file, context, consequence: "makes dead letters of them") {
      source throws(ServiceFailure) in
      let result = try Importer(source, nil, settings, context).run()
      let text =
        "\(result.lines) lines, \(result.unusable) not valid requests, \(result.invalidTokens) invalid tokens in the"
        + " others"
      return (text, result.unusable + result.invalidTokens == 0)
    }
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let source = try LineSource(settings.file) { context.signals.isStopping }
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    try cluster.demand(
      settings.cluster.names.requests,
      "nothing was imported: check --topic-prefix, or make it with martlet topics create")
    let importer = try Importer(source, cluster, settings, context)
    defer { Audit.note(name, importer.deed, context) }
    let result = try importer.run()
    StandardOutput.line(settings.isJSON ? result.json : result.text)
    if result.wasStopped {
      throw context.signals.interrupted("\(settings.file) was not read to its end")
    }
    if result.refused > 0 {
      throw ServiceFailure("\(result.refused) lines could not be produced; they are listed above")
    }
    if settings.isStrict && result.unusable + result.invalidTokens > 0 {
      throw ServiceFailure(
        "\(result.unusable) lines are not valid requests, \(result.invalidTokens) tokens are invalid"
      )
    }
  }
}

struct ImportResult: Sendable, Equatable {
  /// The number of non-empty lines read.
  var lines = 0
  /// The number of lines that Kafka has acknowledged.
  var produced = 0
  /// The number of those that are not valid requests.
  var unusable = 0
  /// The number of invalid device tokens in valid requests.
  var invalidTokens = 0
  /// The number of lines that Kafka rejected permanently.
  var refused = 0
  var milliseconds: UInt64 = 0
  var wasStopped = false

  var text: String {
    let seconds = Double(milliseconds) / 1_000
    let rate = seconds > 0 ? Int(Double(produced) / seconds) : produced
    return "\(produced) lines produced in \(Int(seconds * 10) / 10).\(Int(seconds * 10) % 10) s"
      + " (\(rate)/s), \(unusable) of them not valid requests, \(invalidTokens) invalid tokens in the others,"
      + " \(refused) refused" + (wasStopped ? "; stopped before the end" : "")
  }

  /// The result as JSON; `complete` is false if it was stopped before the end.
  var json: String {
    let object: JSONValue = [
      "produced": .integer(Int64(produced)), "unusable": .integer(Int64(unusable)),
      "invalid_tokens": .integer(Int64(invalidTokens)),
      "refused": .integer(Int64(refused)), "milliseconds": .integer(Int64(milliseconds)),
      "complete": .bool(!wasStopped),
    ]
    return String(decoding: object.text, as: UTF8.self)
  }
}
