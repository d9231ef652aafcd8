// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings
import Store
import Telemetry

/// `martlet tokens waves`: shows waves of responses that call tokens invalid, and decides on them.
enum TokensWavesCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    fileprivate var selection = TokenSelection()
    @Declared(
      .boolean(
        "release",
        "The undecided waves of --app are true: martlet-feedback records the tokens that they hold as invalid within a"
          + " minute, but those that have registered since, and answers that continue the wave count for a day. For"
          + " campaigns to devices that were not pushed for long, and for imports. Of production without --environment."
      ))
    fileprivate var releases: Bool
    @Declared(
      .boolean(
        "reject",
        "The undecided waves of --app are no evidence: no answer of them ever makes a token invalid, nor those that"
          + " continue the wave within a day. For wrong gateways, proxies, configurations, and forged records. Of"
          + " production without --environment."))
    fileprivate var rejects: Bool
    @Declared(CommandSettings.isJSON) var isJSON: Bool
    @Declared(CommandSettings.isConfirmed) fileprivate var isConfirmed: Bool

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      guard !releases || !rejects else {
        throw values.error("reject", "and --release exclude each other")
      }
      guard selection.app != nil || !(releases || rejects) else {
        throw SettingErrors("app", "is required: whose waves are decided")
      }
    }
  }

  static let name = "tokens waves"
  static let summary =
    "Lists waves of answers that call an abnormal number of an app's tokens bad or unregistered: how many tokens each"
    + " holds, how many of its devices have registered since, and what was decided. With --release or --reject it writes"
    + " the decision about those of an app to the database; processes with databases of their own need one each."
  static let table = SettingTable(declaredBy: Settings.self)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    if settings.releases || settings.rejects { return try decide(settings, context) }
    try settings.selection.read { reader throws(StoreError) in
      for wave in try reader.waves() where settings.selection.takes(wave.app, wave.environment) {
        let evidence = try reader.evidence(wave)
        StandardOutput.line(
          settings.isJSON
            ? WaveText.json(wave, evidence).line
            : TerminalText.plain(WaveText.line(wave, evidence)))
      }
    }
  }

  private static func decide(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let verdict: BadTokenWave.Verdict = settings.releases ? .released : .rejected
    let (app, environment) = (
      settings.selection.app ?? "", settings.selection.environment ?? .production
    )
    let deed = settings.releases ? "release" : "reject"
    // A read-only connection: a mistyped path must not create a database.
    let waves = try settings.selection.read { reader throws(StoreError) in
      try reader.waves().filter {
        $0.app == app && $0.environment == environment && $0.wave.decision == nil
      }
    }
    guard !waves.isEmpty else {
      throw ServiceFailure(
        "no undecided wave of \(app), \(environment); martlet tokens waves lists all")
    }
    let held = waves.reduce(0) { $0 + $1.held }
    let subject =
      "\(waves.count) wave\(waves.count == 1 ? "" : "s") of \(app), \(environment), with \(held) held tokens"
    if !settings.isConfirmed { try Confirmation.ask("\(deed) \(subject)", context) }
    let count = try write(verdict, waves, settings.selection.database)
    let result = try decided(count, of: waves.count, subject)
    Audit.note("tokens \(deed)", result, context)
    StandardOutput.line("\(verdict.rawValue) \(result)")
  }

  /// What was decided: martlet-feedback may have decided some while the question stood.
  static func decided(
    _ count: Int, of waves: Int, _ subject: String
  ) throws(ServiceFailure) -> String {
    guard count < waves else { return subject }
    let others = "decided meanwhile; martlet tokens waves lists all"
    guard count > 0 else { throw ServiceFailure("nothing is left of \(subject): \(others)") }
    return "\(count) of \(subject); the others were \(others)"
  }

  /// - Returns: how many waves were still undecided.
  private static func write(
    _ verdict: BadTokenWave.Verdict, _ waves: [HeldWave], _ database: String
  ) throws(ServiceFailure) -> Int {
    let now = WallClock.milliseconds()
    return try orFail {
      let store = try TokenStore(database, now: now, busyTimeout: 10_000)
      return try store.transaction { () throws(StoreError) -> Int in
        var count = 0
        for wave in waves {
          count += try store.decide(
            wave.app, wave.environment, from: wave.wave.from, .init(verdict, at: now),
            by: Audit.actor)
        }
        return count
      }
    }
  }
}

enum WaveText {
  static func line(_ wave: HeldWave, _ evidence: WaveEvidence) -> String {
    let (from, until) = (
      Timestamp.text(milliseconds: wave.wave.from), Timestamp.text(milliseconds: wave.wave.until)
    )
    let expected = evidence.expected > 0 ? " (\(evidence.expected) expected of living devices)" : ""
    let held = "\(wave.held) tokens held, \(evidence.heldValid) registered since\(expected)"
    return [
      wave.app, wave.environment.description, "\(from) … \(until)", decision(wave), held,
    ].joined(separator: "  ")
  }

  private static func decision(_ wave: HeldWave) -> String {
    guard let decision = wave.wave.decision else { return "undecided" }
    return
      "\(decision.verdict.rawValue) at \(Timestamp.text(milliseconds: decision.at)) by \(wave.decidedBy)"
  }

  static func json(_ wave: HeldWave, _ evidence: WaveEvidence) -> JSONObject {
    var object = JSONObject()
    object.append("app", .string(wave.app))
    object.append("environment", .string(wave.environment.description))
    object.append("from", .integer(wave.wave.from))
    object.append("until", .integer(wave.wave.until))
    object.append("held", .integer(Int64(wave.held)))
    object.append("registered_since", .integer(Int64(evidence.heldValid)))
    object.append("expected", .integer(Int64(evidence.expected)))
    object.append("verdict", .string(wave.wave.decision?.verdict.rawValue ?? "undecided"))
    if let decision = wave.wave.decision {
      object.append("decided_at", .integer(decision.at))
      object.append("decided_by", .string(wave.decidedBy))
    }
    return object
  }
}
