// SPDX-License-Identifier: Apache-2.0

/// The kind of a DER value, by its outermost members.
enum DERShape {
  private static let sequence: UInt8 = 0x30
  private static let integer: UInt8 = 0x02
  private static let bitString: UInt8 = 0x03
  private static let octets: UInt8 = 0x04
  private static let identifier: UInt8 = 0x06

  /// nil for bytes that are not one SEQUENCE from their first byte to their last.
  static func kind(_ bytes: ArraySlice<UInt8>) -> PEMFile.Kind? {
    guard let outer = value(bytes), outer.tag == sequence, outer.isWhole,
      let first = value(outer.content)
    else { return nil }
    let second = value(first.rest)?.tag
    switch (first.tag, second) {
    // PKCS #12 (RFC 7292 §4): version 3. PKCS #8 (RFC 5958 §2): 0 or 1, then the algorithm. SEC 1 (RFC 5915 §3): 1,
    // then the key. PKCS #1 (RFC 8017 A.1.2): 0, then the modulus.
    case (integer, sequence): return first.content.last == 3 ? .archive : .privateKey
    case (integer, octets), (integer, integer): return .privateKey
    case (identifier, _): return .bundle
    // An algorithm first: an encrypted key (RFC 5958 §3) or a public one (RFC 5280 §4.1).
    case (sequence, octets): return .encryptedKey
    case (sequence, bitString): return .publicKey
    // The signed part, the algorithm, the signature. A request's signed part begins with its version, 0, and the
    // subject (RFC 2986 §4.1); that of a certificate of version 1 with its serial number and the algorithm.
    case (sequence, sequence): return isRequest(first.content) ? .request : .certificate
    default: return .other
    }
  }

  /// The third member of a request is the public key, of a certificate of version 1 the issuer.
  private static func isRequest(_ signed: ArraySlice<UInt8>) -> Bool {
    guard let version = value(signed), version.tag == integer, version.content.elementsEqual([0]),
      let name = value(version.rest), let key = value(name.rest), let algorithm = value(key.content)
    else { return false }
    return algorithm.tag == sequence && value(algorithm.rest)?.tag == bitString
  }

  private struct Value {
    let tag: UInt8
    let content: ArraySlice<UInt8>
    let rest: ArraySlice<UInt8>
    /// Nothing follows it but line ends, which a transfer adds.
    var isWhole: Bool { rest.allSatisfy { $0 == 0x0A || $0 == 0x0D } }
  }

  /// The first value; nil if it is cut off. One of indefinite length (BER, as in archives) takes all there is.
  private static func value(_ bytes: ArraySlice<UInt8>) -> Value? {
    var rest = bytes
    guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
    var count = Int(first)
    if first == 0x80 { return Value(tag: tag, content: rest, rest: []) }
    if first > 0x80 {
      let size = Int(first & 0x7F)
      guard size <= 4, rest.count >= size else { return nil }
      count = rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(size)
    }
    guard rest.count >= count else { return nil }
    return Value(tag: tag, content: rest.prefix(count), rest: rest.dropFirst(count))
  }
}
