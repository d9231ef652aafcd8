// SPDX-License-Identifier: Apache-2.0

/// What a produced record is, as the number that comes back with its acknowledgement.
struct RecordTag: Equatable {
  enum Kind: UInt, Equatable {
    /// A notification or a dead letter of a request.
    case ofRequest
    /// A batch of receipts.
    case receipts
  }

  let kind: Kind
  /// The request's slot, or the batch's.
  let slot: Int

  init(_ kind: Kind, slot: Int) {
    self.kind = kind
    self.slot = slot
  }

  init(_ number: UInt) {
    kind = number & 1 == 0 ? .ofRequest : .receipts
    slot = Int(number >> 1)
  }

  var number: UInt { UInt(slot) << 1 | kind.rawValue }
}
