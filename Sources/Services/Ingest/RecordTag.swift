// SPDX-License-Identifier: Apache-2.0
import Pipeline

/// What a produced record is, as the number that comes back with its acknowledgement.
struct RecordTag: Equatable {
  /// The lanes come first, numbered as `Lane` does.
  enum Kind: UInt, Equatable {
    case transactional
    case bulk
    case deadLetter
    case receipts

    init(_ lane: Lane) { self = lane == .bulk ? .bulk : .transactional }
  }

  let kind: Kind
  /// The request's slot; of a batch of receipts, the batch's.
  let slot: Int
  /// Key and value.
  let bytes: Int

  private static let mostBytes = 1 << 22 - 1

  init(_ kind: Kind, slot: Int, bytes: Int) {
    self.kind = kind
    self.slot = slot
    self.bytes = min(bytes, Self.mostBytes)
  }

  init(_ number: UInt) {
    kind = Kind(rawValue: number & 3)!  // two bits, four kinds
    bytes = Int(number >> 2 & UInt(Self.mostBytes))
    slot = Int(number >> 24)
  }

  var number: UInt { UInt(slot) << 24 | UInt(bytes) << 2 | kind.rawValue }
}
