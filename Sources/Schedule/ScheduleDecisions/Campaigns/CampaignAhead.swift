// SPDX-License-Identifier: Apache-2.0
import Schedule

/// How far ahead of a campaign's pace its devices are addressed: so that a pause, a cancellation, its own limits, and what
/// becomes of its devices meanwhile, hold until the last push. Times are milliseconds since the epoch.
struct CampaignAhead: Sendable {
  /// At this pace the pushes that are addressed and have no outcome take so long.
  static var lead: Double { Double(CampaignProgress.leadSeconds) * 1_000 }
  /// Outcomes that did not come for so long are not waited for: receipts may be gone. Pushes that are held where they are
  /// come in addition, then: as many again for each such time.
  static var patience: Int64 { 3_600_000 }
  /// Between two turns goes by no more than this: a longer step is of a clock that was set.
  static var longestStep: Int64 { 60_000 }
  /// A page is so much of what may be addressed.
  private static var pages: Int { 10 }

  /// Outcomes that are not waited for any more.
  private var given = 0
  /// The outcomes that were known last, and for how long there has been neither room for a page nor one more.
  private var known = 0
  private var waited: Int64 = 0
  private var toldAt: Int64?

  /// The devices that may be without an outcome at a pace, in pushes a millisecond.
  static func most(_ pace: Double) -> Int { max(1, Int(min(pace * lead, 1e12))) }

  /// The devices of a page at a pace.
  static func page(_ pace: Double, atMost size: Int) -> Int {
    min(size, max(1, most(pace) / pages))
  }

  /// To be told every turn.
  ///
  /// - Parameters:
  ///   - planned: devices that are addressed, or about to be.
  ///   - ended: those of them that have an outcome.
  ///   - isHeld: it is paused, or waits otherwise.
  mutating func note(planned: Int, ended: Int, _ pace: Double, isHeld: Bool, now: Int64) {
    let hasRoom =
      room(planned: planned, ended: ended, pace) >= Self.page(pace, atMost: .max)
    let isMoving = isHeld || ended != known || hasRoom
    known = ended
    // Some of them may have come after all.
    given = min(given, max(0, planned - ended))
    let step = toldAt.map { now - $0 } ?? 0
    toldAt = now
    waited = isMoving ? 0 : waited + (0...Self.longestStep ~= step ? step : 0)
    guard waited > Self.patience else { return }
    given = max(0, planned - ended)
    waited = 0
  }

  /// Whether more devices are addressed, or about to be, than may be: the pace is slower than it was.
  func isTooFar(planned: Int, ended: Int, _ pace: Double) -> Bool {
    planned - ended - given > Self.most(pace)
  }

  /// The devices that may be addressed now.
  func room(planned: Int, ended: Int, _ pace: Double) -> Int {
    max(0, Self.most(pace) - max(0, planned - ended - given))
  }
}
