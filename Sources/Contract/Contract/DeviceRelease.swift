// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// The moment from which a device is not any more whose it was when earlier pushes were requested: what was not sent by
/// then is not sent. A header of records of `push.invalid-tokens`, which says so to senders and to ingest.
///
/// A record with a value says besides that the token is not to be used until it is registered again; a tombstone that it
/// may be used for what is requested from now on. So nothing has to be taken back: Kafka keeps a tombstone for
/// `delete.retention.ms`, and no push is as old as that.
public struct DeviceRelease: Equatable, Sendable {
  /// What happened.
  public enum Reason: UInt8, Sendable, CaseIterable {
    /// The application has removed the device, or erased it with its user.
    case removed
    /// It was registered for another user, for none any more, or again after it had been removed.
    case ownerChanged

    /// In the record's header.
    public var word: StaticString {
      switch self {
      case .removed: "removed"
      case .ownerChanged: "owner_changed"
      }
    }

    /// In the receipt of a push that is not sent for it.
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
  /// The reason in the value of a removed device's record, where those of APNs stand.
  public static let removedReason = "removed"

  /// The header's value: the reason and the time, as in `removed 1795000000000`.
  public var text: String { "\(reason.word) \(at)" }

  /// Reads such a value; nil for anything else.
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
