// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import Settings

/// `martlet status`: the state of the pipeline, from the status pages of its processes.
enum StatusCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var source = StatusSource()

    @Declared(.boolean("watch", "Continue until stopped, and redraw on a terminal."))
    var watches: Bool

    @Declared(
      .duration(
        "interval", default: "1s", in: 200...3_600_000, "Time over which rates are measured."))
    var intervalMilliseconds: Int64

    @Declared(CommandSettings.isJSON) var isJSON: Bool

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      source = try StatusSource(values)
    }
  }

  static let name = "status"
  static let summary =
    "Shows the state of the pipeline: which processes are ready, rates, outcomes, backlog, latency and what is held"
    + " back. Exit status 0 if the pipeline is ready, 3 if it is degraded (something needs a look), 1 if it is blocked."
  static let table = SettingTable(declaredBy: Settings.self, operands: StatusSource.operands)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    var before = try settings.source.read()
    var readAt = MonotonicClock.milliseconds()
    while true {
      wait(settings.intervalMilliseconds, context)
      if context.signals.isStopping {
        if settings.watches { return }
        // Status 0 would say that the pipeline is ready.
        throw context.signals.interrupted("no status was shown")
      }
      let now = try settings.source.read()
      let moment = MonotonicClock.milliseconds()
      let status = PipelineStatus(
        now, before: before, seconds: Double(moment - readAt) / 1_000,
        wall: Double(WallClock.milliseconds()) / 1_000)
      guard show(status, settings) else { return }
      guard settings.watches else {
        let headline = status.headline
        if headline == .ready { return }
        throw ServiceFailure(
          "the pipeline is \(headline): \(problems(status))", status: headline.exitStatus)
      }
      (before, readAt) = (now, moment)
    }
  }

  private static func problems(_ status: PipelineStatus) -> String {
    let warnings = StatusText.warnings(status).map { $0.dropFirst(2) }
    guard let first = warnings.first else { return "no process is named" }
    return warnings.count == 1 ? "\(first)" : "\(first), and \(warnings.count - 1) more"
  }

  /// Waits in steps, so that a stop is noticed soon.
  private static func wait(_ milliseconds: Int64, _ context: ServiceContext) {
    let end = MonotonicClock.milliseconds() + UInt64(milliseconds)
    while MonotonicClock.milliseconds() < end, !context.signals.isStopping { usleep(50_000) }
  }

  /// Prints a status; returns false when the reader has gone (`| head`).
  private static func show(_ status: PipelineStatus, _ settings: Settings) -> Bool {
    if settings.isJSON { return StandardOutput.line(StatusText.json(status)) }
    guard let screen = StatusScreen.ofTerminal() else {
      // Readings follow one another.
      let text = StatusText.lines(status).joined(separator: "\n") + "\n"
      return StandardOutput.write(settings.watches ? text + "\n" : text)
    }
    let text = screen.text(status)
    // From the top of a cleared screen.
    return StandardOutput.write(settings.watches ? "\u{1B}[H\u{1B}[2J" + text : text)
  }
}
