// SPDX-License-Identifier: Apache-2.0

/// The time at which a device changed hands or was removed: pushes requested before it and not yet sent are not sent. A
/// header of records of `push.invalid-tokens`, for senders and ingest.
///
/// A record with a value also says that the token must not be used until it is registered again; a tombstone, that it
/// is usable for requests from now on. So nothing has to be withdrawn: Kafka keeps a tombstone for
/// `delete.retention.ms`, longer than any push exists.
public struct DeviceRelease: Equatable, Sendable {
  /// What happened.
  public enum Reason: UInt8, Sendable, CaseIterable {
    /// The application removed the device, or erased it with its user.
    case removed
    /// It was registered for another user, for none any more, or again after a removal.
    case ownerChanged

    /// The word in the record's header.
    public var word: StaticString {
      switch self {
      case .removed: "removed"
      case .ownerChanged: "owner_changed"
      }
    }

    /// The cause in the receipts of pushes that are not sent.
    public var cause: ReceiptCause {
      switch self {
      case .removed: .removed
      case .ownerChanged: .ownerChanged
      }
    }
  }

  public let reason: Reason
  /// Milliseconds since the epoch.
  public let at: Int64

  public init(_ reason: Reason, at: Int64) {
    self.reason = reason
    self.at = at
  }

  /// The name of the header.
  public static let header: StaticString = "released"
  /// The reason in a removed device's record, in place of one from APNs.
  public static let removedReason = "removed"

  /// The header's value: the reason and the time, as in `removed 1795000000000`.
  public var text: String { "\(reason.word) \(at)" }

  /// Reads the header's value; nil for anything else.
  public init?(_ text: Span<UInt8>) {
    guard text.count <= 40 else { return nil }
    var blank = 0
    while blank < text.count, text[blank] != UInt8(ascii: " ") { blank += 1 }
    let word = text.extracting(0..<blank)
    let known = Reason.allCases.first { word.spells("\($0.word)") }
    guard let known, blank + 1 < text.count else { return nil }
    var time: Int64 = 0
    for index in blank + 1..<text.count {
      let digit = text[index] &- 0x30
      guard digit < 10, time <= OutsideTime.last / 10 else { return nil }
      time = time * 10 + Int64(digit)
    }
    guard OutsideTime.problem(time) == nil else { return nil }
    self.init(known, at: time)
  }
}
