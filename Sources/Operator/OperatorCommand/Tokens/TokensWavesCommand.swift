// SPDX-License-Identifier: Apache-2.0
import APNS
import DeviceTokens
import EventLoop
import JSON
public import ServiceKit
public import Settings
import Store
import Telemetry

/// `martlet tokens waves`: waves of answers that call tokens invalid, and what they hold.
public enum TokensWavesCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(TokenSettings.database) var database: String
    @Declared(TokenSettings.app) var app: String?
    @Declared(TokenSettings.environment) var environment: String?
    @Declared(.boolean("json", "Print one JSON object in each line.")) var isJSON: Bool

    public init() {}
  }

  public static let name = "tokens waves"
  public static let summary =
    "Lists waves of answers that call an abnormal number of an app's tokens bad or unregistered: how many tokens each"
    + " holds, how many of its devices have registered since, and what was decided."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    do throws(StoreError) {
      let reader = try TokenStoreReader(settings.database)
      for wave in try reader.waves() where isWanted(wave, settings) {
        let evidence = try reader.evidence(wave)
        if settings.isJSON {
          StandardOutput.line(
            String(decoding: WaveText.json(wave, evidence).text, as: UTF8.self))
        } else {
          StandardOutput.line(TerminalText.plain(WaveText.line(wave, evidence)))
        }
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private static func isWanted(_ wave: HeldWave, _ settings: Settings) -> Bool {
    (settings.app ?? wave.app) == wave.app
      && (settings.environment ?? wave.environment.description) == wave.environment.description
  }
}

/// A wave in one line.
enum WaveText {
  static func line(_ wave: HeldWave, _ evidence: WaveEvidence) -> String {
    let (from, until) = (
      Timestamp.text(milliseconds: wave.wave.from), Timestamp.text(milliseconds: wave.wave.until)
    )
    let expected =
      evidence.expected > 0 ? " (\(evidence.expected) expected of living devices)" : ""
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

  static func json(_ wave: HeldWave, _ evidence: WaveEvidence) -> JSONValue {
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
    return .object(object)
  }
}

/// `martlet tokens release`: the answers of an app's waves are true.
public enum TokensReleaseCommand: Service {
  public typealias Settings = WaveDecisionSettings

  public static let name = "tokens release"
  public static let summary =
    "Believes the undecided waves of an app (martlet tokens waves): martlet-feedback records the tokens that they hold as"
    + " invalid within a minute, but those that have registered since, and answers that continue the wave count for a day."
    + " For campaigns to devices that were not pushed for long, and for imports."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try WaveDecision.take(.released, settings, context)
  }
}

/// `martlet tokens reject`: the answers of an app's waves are no evidence.
public enum TokensRejectCommand: Service {
  public typealias Settings = WaveDecisionSettings

  public static let name = "tokens reject"
  public static let summary =
    "Rejects the undecided waves of an app (martlet tokens waves): no answer of them ever makes a token invalid, nor"
    + " those that continue the wave within a day. For wrong gateways, proxies, configurations, and forged records."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try WaveDecision.take(.rejected, settings, context)
  }
}

/// The settings of both commands that decide.
public struct WaveDecisionSettings: DeclaredSettings, Sendable {
  @Declared(
    .path(
      "database", use: .database,
      "The database of device tokens that martlet-feedback keeps: a SQLite file, or a postgresql:// URL. The decision is"
        + " written to it; processes with databases of their own need one each.")
  ) var database: String
  @Declared(.text("app", placeholder: "APP", "The app whose waves are decided.")) var app: String
  @Declared(
    .choice(
      "environment", of: ["production", "sandbox"], default: "production",
      "The environment of these waves.")) var environment: String
  @Declared(.boolean("yes", "Do not ask.")) var isConfirmed: Bool

  public init() {}
}

/// Writes decisions about waves into the database of `martlet-feedback`.
enum WaveDecision {
  static func take(
    _ verdict: BadTokenWave.Verdict, _ settings: WaveDecisionSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let environment: Environment = settings.environment == "sandbox" ? .sandbox : .production
    let deed = verdict == .released ? "release" : "reject"
    let waves = try undecided(settings, environment)
    guard !waves.isEmpty else {
      throw ServiceFailure(
        "no undecided wave of \(settings.app), \(environment); martlet tokens waves lists all")
    }
    let held = waves.reduce(0) { $0 + $1.held }
    let subject =
      "\(waves.count) wave\(waves.count == 1 ? "" : "s") of \(settings.app), \(environment), with \(held) held tokens"
    if !settings.isConfirmed { try Confirmation.ask("\(deed) \(subject)") }
    try write(verdict, waves, settings.database)
    Audit.note("tokens \(deed)", subject, context)
    StandardOutput.line("\(verdict.rawValue) \(subject)")
  }

  /// Read from a reader: a mistyped path makes no database.
  private static func undecided(
    _ settings: WaveDecisionSettings, _ environment: Environment
  ) throws(ServiceFailure) -> [HeldWave] {
    do throws(StoreError) {
      return try TokenStoreReader(settings.database).waves().filter {
        $0.app == settings.app && $0.environment == environment && $0.wave.decision == nil
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private static func write(
    _ verdict: BadTokenWave.Verdict, _ waves: [HeldWave], _ database: String
  ) throws(ServiceFailure) {
    let now = WallClock.milliseconds()
    do throws(StoreError) {
      let store = try TokenStore(database, now: now, busyTimeout: 10_000)
      try store.transaction { () throws(StoreError) in
        for wave in waves {
          try store.decide(
            wave.app, wave.environment, from: wave.wave.from, .init(verdict, at: now),
            by: Audit.actor)
        }
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
  }
}
