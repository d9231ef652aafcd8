// SPDX-License-Identifier: Apache-2.0

/// SipHash-1-3 with 128 bits of output: stands for a key in a set without keeping its bytes.
///
/// The secret is chosen at start, so a caller who registers device tokens cannot cause a collision.
struct KeyHash {
  /// Two words that together stand for a key.
  struct Value: Equatable {
    let low: UInt64
    let high: UInt64
  }

  private let key0: UInt64
  private let key1: UInt64

  init(_ key0: UInt64, _ key1: UInt64) {
    self.key0 = key0
    self.key1 = key1
  }

  /// A hash keyed with a random secret.
  static func random() -> KeyHash {
    KeyHash(.random(in: .min ... .max), .random(in: .min ... .max))
  }

  func value(_ bytes: UnsafeRawBufferPointer) -> Value {
    var state = State(key0, key1)
    let whole = bytes.count & ~7
    var position = 0
    while position < whole {
      state.absorb(
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
      position += 8
    }
    var last = UInt64(truncatingIfNeeded: bytes.count) << 56
    var shift: UInt64 = 0
    while position < bytes.count {
      last |= UInt64(bytes[position]) << shift
      shift += 8
      position += 1
    }
    state.absorb(last)
    return state.finish()
  }

  /// The four words of SipHash (Aumasson, Bernstein), with one round a word and three at the end.
  private struct State {
    var v0, v1, v2, v3: UInt64

    init(_ key0: UInt64, _ key1: UInt64) {
      v0 = key0 ^ 0x736F_6D65_7073_6575
      v1 = key1 ^ 0x646F_7261_6E64_6F6D ^ 0xEE
      v2 = key0 ^ 0x6C79_6765_6E65_7261
      v3 = key1 ^ 0x7465_6462_7974_6573
    }

    @inline(__always)
    mutating func absorb(_ word: UInt64) {
      v3 ^= word
      round()
      v0 ^= word
    }

    mutating func finish() -> Value {
      v2 ^= 0xEE
      for _ in 0..<3 { round() }
      let low = v0 ^ v1 ^ v2 ^ v3
      v1 ^= 0xDD
      for _ in 0..<3 { round() }
      return Value(low: low, high: v0 ^ v1 ^ v2 ^ v3)
    }

    @inline(__always)
    private mutating func round() {
      v0 = v0 &+ v1
      v1 = Self.rotate(v1, 13) ^ v0
      v0 = Self.rotate(v0, 32)
      v2 = v2 &+ v3
      v3 = Self.rotate(v3, 16) ^ v2
      v0 = v0 &+ v3
      v3 = Self.rotate(v3, 21) ^ v0
      v2 = v2 &+ v1
      v1 = Self.rotate(v1, 17) ^ v2
      v2 = Self.rotate(v2, 32)
    }

    @inline(__always)
    private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 {
      word << bits | word >> (64 - bits)
    }
  }
}
