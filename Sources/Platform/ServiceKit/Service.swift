// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Settings

/// A program: a process of the pipeline, or one command of `martlet`.
///
/// The harness reads the settings, answers `--help`, `--version`, `--check-config` and `--check`, and then
/// calls `run`, whose return ends the process: status 0, or 1 when it throws. Wrong settings end
/// it with status 2 before anything was opened.
public protocol Service {
  /// The settings after validation, as the service works with them.
  associatedtype Settings

  /// As it is typed: `martlet-sender`; a command's own word: `import`.
  static var name: String { get }
  /// One or two sentences for `--help`.
  static var summary: String { get }
  /// Its own settings; the harness adds those that every program has.
  static var table: SettingTable { get }
  /// True if it prints a line of counters every `--counters-interval`.
  static var reportsCounters: Bool { get }
  /// True if these settings are those of a test suite, which gets the line only if it gives `--counters-interval`.
  static func isQuiet(_ settings: Settings) -> Bool
  /// True if it works on records that it takes again after a crash, and so notes which one was in hand.
  static var notesCrashes: Bool { get }

  /// Turns values into the service's settings and checks them against each other. May look at
  /// files that settings name; opens no socket.
  static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings

  /// Looks at what the settings refer to: keys, certificates, Kafka, gateways, for `--check`. Changes nothing; takes as
  /// long as its answers take, with a bound for each.
  static func check(_ settings: Settings, _ context: ServiceContext) -> [Finding]

  /// Does the work on the calling thread until it is done or `context.signals` says stop.
  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure)
  /// True if it belongs to a terminal, whose end (SIGHUP) ends it, too; else SIGHUP asks it to read its files again.
  static var belongsToTerminal: Bool { get }
}

extension Service {
  public static var reportsCounters: Bool { true }
  public static func isQuiet(_ settings: Settings) -> Bool { false }
  public static var notesCrashes: Bool { false }
  public static var belongsToTerminal: Bool { !reportsCounters }
  public static func check(_ settings: Settings, _ context: ServiceContext) -> [Finding] { [] }
}

extension Service where Settings: DeclaredSettings {
  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    try settings.finish(values)
    return settings
  }
}

/// A command that somebody waits for: it prints no counters.
public protocol Command: Service {}

extension Command {
  public static var reportsCounters: Bool { false }
}

/// Why a program gives up: what happened, the likely cause and what to do about it.
public struct ServiceFailure: Error, Sendable, CustomStringConvertible {
  public let description: String
  /// The exit status of the process: 1, or 128 and the number of the signal that ended it (130 for Ctrl-C), as shells
  /// have it.
  public let status: Int32

  public init(_ description: String, status: Int32 = ServiceRunner.failed) {
    self.description = description
    self.status = status
  }

  /// The error itself if it is one, otherwise one of its words.
  public init(_ error: any Error) {
    self = error as? ServiceFailure ?? ServiceFailure("\(error)")
  }
}

/// What some work gives. An error of it is why the program gives up.
public func orFail<Result>(_ work: () throws -> Result) throws(ServiceFailure) -> Result {
  do { return try work() } catch { throw ServiceFailure(error) }
}
