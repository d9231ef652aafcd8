// SPDX-License-Identifier: Apache-2.0
import Contract

/// How far ahead of its pace a campaign addresses devices, so that a pause, a cancellation, its limits and changes to
/// its devices take effect up to the last push. Times are milliseconds since the epoch.
struct CampaignAhead: Sendable {
  /// How long pushes addressed but without an outcome may take at the pace.
  static var lead: Double { Double(CampaignProgress.leadSeconds) * 1_000 }
  /// After this long without progress, missing outcomes are no longer waited for: receipts may be lost. Pushes that are
  /// only held come on top then: as many again each time this passes.
  static var patience: Int64 { 3_600_000 }
  /// The longest step between two turns that counts; a longer one means that the clock was set.
  static var longestStep: Int64 { 60_000 }
  /// The number of pages into which the devices that may be without an outcome are divided.
  private static var pages: Int { 10 }

  /// Outcomes no longer waited for.
  private var given = 0
  /// The number of outcomes last known, and how long there has been neither room for a page nor a new outcome.
  private var known = 0
  private var waited: Int64 = 0
  private var toldAt: Int64?

  /// The most devices without an outcome at a pace, in pushes per millisecond.
  static func most(_ pace: Double) -> Int { max(1, Int(min(pace * lead, 1e12))) }

  /// The number of devices in a page at a pace.
  static func page(_ pace: Double, atMost size: Int) -> Int {
    min(size, max(1, most(pace) / pages))
  }

  /// Updates the figures. Call it every turn.
  ///
  /// - Parameters:
  ///   - planned: devices addressed or about to be.
  ///   - ended: those of them that have an outcome.
  ///   - isHeld: whether the campaign is paused, or waits for another reason.
  mutating func note(planned: Int, ended: Int, _ pace: Double, isHeld: Bool, now: Int64) {
    let hasRoom = room(planned: planned, ended: ended, pace) >= Self.page(pace, atMost: .max)
    let isMoving = isHeld || ended != known || hasRoom
    known = ended
    // Some of them may have arrived after all.
    given = min(given, max(0, planned - ended))
    let step = toldAt.map { now - $0 } ?? 0
    toldAt = now
    waited = isMoving ? 0 : waited + (0...Self.longestStep ~= step ? step : 0)
    guard waited > Self.patience else { return }
    given = max(0, planned - ended)
    waited = 0
  }

  /// Whether more devices are addressed or about to be than allowed, because the pace was lowered.
  func isTooFar(planned: Int, ended: Int, _ pace: Double) -> Bool {
    planned - ended - given > Self.most(pace)
  }

  /// The number of devices that may be addressed now.
  func room(planned: Int, ended: Int, _ pace: Double) -> Int {
    max(0, Self.most(pace) - max(0, planned - ended - given))
  }
}
