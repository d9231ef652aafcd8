// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings

struct ReceiptReplayFilter: DeclaredSettings, Sendable {
  @Declared(.text("app", placeholder: "BUNDLE-ID", "Only receipts of this app.")) var app: String?

  @Declared(
    .text(
      "reason", placeholder: "REASON",
      "Only receipts with this reason, such as TopicDisallowed or max_age_passed.")) var reason:
    String?

  @Declared(
    .text("id", placeholder: "ID", "Only receipts with this apns-id or request id.")) var id:
    String?

  @Declared(
    .choice(
      "outcome", of: ["rejected", "expired"], default: "rejected",
      "Receipts with this outcome: what APNs refused, or what became too old.")) var outcome: String

  @Declared(
    .text(
      "since", default: "24h", placeholder: "TIME",
      "Only receipts from this moment on: \(MomentText.forms).")) private var sinceText: String

  @Declared(
    .text("until", placeholder: "TIME", "Only receipts before this moment, in the same form."))
  private var untilText: String?

  @Declared(
    .integer(
      "limit", default: 100_000, in: 1...1_000_000,
      "Most notifications to send again; the command says when there are more.")) var limit: Int

  /// The start of the time range, in milliseconds since the epoch, inclusive.
  var since: Int64 = 0
  /// The end of the time range, exclusive.
  var until = Int64.max

  init() {}

  init(_ values: SettingValues, now: Int64 = WallClock.milliseconds()) throws(SettingErrors) {
    self = Self.reading(values)
    since = try values.moment("since", sinceText, now: now)
    if let untilText { until = try values.moment("until", untilText, now: now) }
    guard app != nil || reason != nil || id != nil else {
      throw values.error("app", "or --reason or --id is needed: which receipts are meant")
    }
  }

  func matches(_ receipt: Receipt) -> Bool {
    guard "\(receipt.outcome)" == outcome, receipt.at >= since, receipt.at < until else {
      return false
    }
    if let app, receipt.app?.exact != app.exact { return false }
    if let reason, receipt.reason?.exact != reason.exact { return false }
    guard let id else { return true }
    return receipt.id?.exact == id.exact
      || receipt.apnsID.map { "\($0)" == id.lowercased() } ?? false
  }
}
