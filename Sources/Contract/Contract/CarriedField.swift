// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// The fields of an envelope that follow the fixed ones as `key=value`. Hardly anything is decided by them: they are
/// carried from a request to the header fields of its push and to its receipt, over retries and replays.
///
/// This is the one table of them. A new one is a case and a row here; one that a request's JSON has also needs its
/// `RequestField`. What is not in the table is carried as well: a sender passes on what a later version has written.
public enum CarriedField: UInt8, Sendable, CaseIterable {
  case target
  case collapseID
  case data
  case replay
  case traceParent
  case supersede
  case final
  case position
  case group
  case silent
  case start
  case warnings
  /// The name of its campaign. In a receipt it stands last (`ReceiptGlance.campaign`).
  case campaign

  /// One of them, as each place knows it.
  public struct Row: Sendable {
    public let field: CarriedField
    /// The field of a request's JSON that it comes from; nil if it comes from elsewhere.
    public var request: RequestField?
    /// The key in the envelope. One that begins with `apns-` is the name of the push's header field.
    public let key: String
    public let rule: Rule
    /// The field of a receipt that it comes back in; nil for none.
    public var receipt: String?

    /// True for a header field of the push.
    public var isHeader: Bool { key.hasPrefix(CarriedHeaders.prefix) }
    /// True if its value is JSON, and no text to be quoted.
    public var isJSON: Bool {
      switch rule {
      case .data, .warnings: true
      default: false
      }
    }
  }

  /// The values that a field may have: each can be sent and can stand in a receipt as it is.
  public enum Rule: Sendable {
    /// Text of at most so many bytes: no control characters, no blank at either end.
    case text(most: Int)
    /// The value of a header field, of at most so many bytes: printable ASCII, no blank at either end.
    case header(most: Int)
    /// A `PushTarget`.
    case target
    /// A `FlatObject`.
    case data
    /// A `ReplayMark`.
    case replay
    /// A `TraceParent`.
    case traceParent
    /// `1`: what has the field has a property.
    case flag
    /// A `LanePosition`.
    case position
    /// A list of `PayloadWarnings`.
    case warnings

    /// Checks a value.
    public func allows(_ value: Span<UInt8>) -> Bool {
      switch self {
      case .text(let most): RequestRules.isText(value, most: most)
      case .header(let most):
        value.count <= most && CarriedHeaders.forbiddenPlace(inValue: value) == nil
      case .target: PushTarget(value) != nil
      case .data: FlatObject.isValid(value)
      case .replay: ReplayMark.isMark(value)
      case .traceParent: TraceParent.isValid(value)
      case .flag: value.spells("1")
      case .position: LanePosition(value) != nil
      case .warnings: PayloadWarnings.isList(value)
      }
    }
  }

  /// The rows, in the order of the cases.
  public static let table = [
    Row(field: .target, key: "target", rule: .target),
    Row(
      field: .collapseID, request: .collapseID, key: "apns-collapse-id",
      rule: .header(most: RequestRules.maximumCollapseID)),
    Row(field: .data, request: .data, key: "data", rule: .data, receipt: "data"),
    Row(field: .replay, key: "replay", rule: .replay, receipt: "replay"),
    Row(field: .traceParent, key: "traceparent", rule: .traceParent, receipt: "traceparent"),
    Row(
      field: .supersede, request: .supersede, key: "supersede",
      rule: .text(most: RequestRules.maximumSupersede)),
    Row(field: .final, key: "final", rule: .flag),
    Row(field: .position, key: "position", rule: .position),
    Row(
      field: .group, request: .group, key: "group",
      rule: .text(most: RequestRules.maximumGroup), receipt: "group"),
    Row(field: .silent, key: "silent", rule: .flag),
    Row(field: .start, key: "start", rule: .flag),
    Row(field: .warnings, key: "warnings", rule: .warnings, receipt: "warnings"),
    Row(
      field: .campaign, request: .campaign, key: "campaign",
      rule: .text(most: CampaignKey.longestName), receipt: "campaign"),
  ]

  /// The rows whose text a request has in a field of its own.
  public static let texts = table.filter { row in
    switch row.rule {
    case .text, .header: row.request != nil
    default: false
    }
  }

  /// The field's row of the table.
  public var row: Row { Self.table[Int(rawValue)] }

  /// The row of an envelope's key; nil for one of no row.
  public static func row(ofKey key: Span<UInt8>) -> Row? {
    for row in table where key.spells(row.key) { return row }
    return nil
  }
}
