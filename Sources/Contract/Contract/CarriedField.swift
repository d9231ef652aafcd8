// SPDX-License-Identifier: Apache-2.0

/// The fields of an envelope that follow the positional ones as `key=value`. Hardly any of them decides anything: they
/// are carried from a request to its push's header fields and its receipt, through retries and replays.
///
/// This is their only table. A new field is a case and a row here; one that a request's JSON has also needs its
/// `RequestField`. Unknown fields are carried as well: a sender passes on what a later version wrote.
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
  /// The name of its campaign. In a receipt it is last (`ReceiptGlance.campaign`).
  case campaign

  /// The field's names and rules in each place.
  public struct Row: Sendable {
    public let field: CarriedField
    /// The field of a request's JSON that it comes from; nil for another source.
    public var request: RequestField?
    /// The key in the envelope. A key that begins with `apns-` is the name of the push's header field.
    public let key: String
    public let rule: Rule
    /// The receipt field in which it is returned; nil for none.
    public var receipt: String?

    /// True for a header field of the push.
    public var isHeader: Bool { key.hasPrefix(CarriedHeaders.prefix) }
    /// True if its value is JSON rather than text to be quoted.
    public var isJSON: Bool {
      switch rule {
      case .data, .warnings: true
      default: false
      }
    }
  }

  /// The values that a field may have: each is valid in a header and in a receipt as it is.
  public enum Rule: Sendable {
    /// Text of at most `most` bytes: no control characters, no blank at either end.
    case text(most: Int)
    /// The value of a header field, of at most `most` bytes: printable ASCII, no blank at either end.
    case header(most: Int)
    /// A `PushTarget`.
    case target
    /// A `FlatObject`.
    case data
    /// A `ReplayMark`.
    case replay
    case traceParent
    /// `1`: the presence of the field is its meaning.
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

  /// The rows whose text has a field of its own in a request.
  public static let texts = table.filter { row in
    switch row.rule {
    case .text, .header: row.request != nil
    default: false
    }
  }

  public var row: Row { Self.table[Int(rawValue)] }

  /// The row of an envelope's key; nil for an unknown key.
  public static func row(ofKey key: Span<UInt8>) -> Row? {
    for row in table where key.spells(row.key) { return row }
    return nil
  }
}
