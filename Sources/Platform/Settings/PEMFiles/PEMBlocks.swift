// SPDX-License-Identifier: Apache-2.0

struct PEMBlocks {
  private static let begin = Array("-----BEGIN ".utf8)
  private static let end = Array("-----END ".utf8)
  private static let dashes = Array("-----".utf8)
  private static let longestLabel = 64

  private var rest: ArraySlice<UInt8>
  private var count = 0

  init(_ text: [UInt8]) { rest = Self.plain(text)[...] }

  mutating func next() throws(PEMProblem) -> PEMFile.Entry? {
    guard let start = Self.find(Self.begin, in: rest) else {
      try checkBetween(rest)
      return nil
    }
    try checkBetween(rest[..<start])
    count += 1
    rest = rest[(start + Self.begin.count)...]
    guard let stop = Self.find(Self.dashes, in: rest), stop - rest.startIndex <= Self.longestLabel
    else { throw PEMProblem("block \(count): its BEGIN line is damaged") }
    let label = rest[..<stop]
    rest = rest[(stop + Self.dashes.count)...]
    let name = String(decoding: label, as: UTF8.self)
    guard let close = Self.find(Self.end, in: rest) else { throw cut(name) }
    let body = rest[..<close]
    rest = rest[(close + Self.end.count)...]
    guard Self.find(Self.begin, in: body) == nil, rest.starts(with: label + Self.dashes) else {
      throw cut(name)
    }
    rest = rest.dropFirst(label.count + Self.dashes.count)
    return try entry(name, body)
  }

  private func entry(_ label: String, _ body: ArraySlice<UInt8>) throws(PEMProblem) -> PEMFile.Entry
  {
    // RFC 1421: the header of a key that OpenSSL encrypted in its own form.
    if label == "ENCRYPTED PRIVATE KEY" || Self.find(Array("ENCRYPTED".utf8), in: body) != nil {
      return .init(kind: .encryptedKey, der: [])
    }
    let kind = Self.kind(label)
    guard kind != .other else { return .init(kind: .other, der: []) }
    guard let der = Base64.decode(body), !der.isEmpty else {
      throw PEMProblem(
        "block \(count) (\(label)) is damaged: what stands between its BEGIN and END lines is not base64"
      )
    }
    // A label that was typed by hand: what is in the block counts.
    if DERShape.kind(der[...]) == .encryptedKey { return .init(kind: .encryptedKey, der: []) }
    return .init(kind: kind, der: der)
  }

  private static func kind(_ label: String) -> PEMFile.Kind {
    switch label {
    case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE": .certificate
    case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY": .privateKey
    case "PUBLIC KEY": .publicKey
    case "PKCS12": .archive
    case "PKCS7", "CMS", "PKCS #7 SIGNED DATA": .bundle
    case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": .request
    default: .other
    }
  }

  private func cut(_ label: String) -> PEMProblem {
    PEMProblem("block \(count) (\(label)) has no END line of its own: it is cut off or damaged")
  }

  /// Throws for what was meant as a block's first or last line: the block would be left out in silence.
  private func checkBetween(_ text: ArraySlice<UInt8>) throws(PEMProblem) {
    for mark in ["BEGIN CERT", "END CERT", "PRIVATE KEY-", "-BEGIN ", "-END "]
    where Self.find(Array(mark.utf8), in: text) != nil {
      throw PEMProblem(
        "has a damaged BEGIN or END line \(count == 0 ? "at its start" : "after block \(count)"): five dashes stand on"
          + " either side of the words")
    }
  }

  /// True if the text is base64 of a key or certificate, or of a PEM text.
  static func isEncodedAgain(_ text: [UInt8]) -> Bool {
    guard let decoded = Base64.decode(plain(text)[...]) else { return false }
    return DERShape.kind(decoded[...]) != nil || decoded.starts(with: begin)
  }

  /// The text with line ends for those that are spelt out.
  private static func plain(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(UInt8(ascii: "\\")) else { return text }
    var plain: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let next = rest.first else {
        plain.append(byte)
        continue
      }
      switch next {
      case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"), 0x0A, 0x0D:
        plain.append(0x0A)
        rest = rest.dropFirst()
      // Escaped twice, on its way through two configuration files.
      case UInt8(ascii: "\\"): continue
      default: plain.append(byte)
      }
    }
    return plain
  }

  private static func find(_ word: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
    guard text.count >= word.count else { return nil }
    return (text.startIndex...text.endIndex - word.count).first {
      text[$0] == word[0] && text[$0...].starts(with: word)
    }
  }
}

/// Base64 (RFC 4648 §4) with white space anywhere.
enum Base64 {
  /// nil for anything else, an incomplete last group included.
  static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var group: UInt32 = 0
    var (digits, padding) = (0, 0)
    for byte in text {
      if byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
      if byte == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(byte) else { return nil }
      group = group << 6 | value
      digits += 1
      if digits % 4 == 0 {
        bytes += [UInt8(group >> 16 & 255), UInt8(group >> 8 & 255), UInt8(group & 255)]
      }
    }
    switch (digits % 4, padding) {
    case (0, 0): break
    case (2, 2): bytes.append(UInt8(group >> 4 & 255))
    case (3, 1): bytes += [UInt8(group >> 10 & 255), UInt8(group >> 2 & 255)]
    default: return nil
    }
    return bytes
  }

  private static func value(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a") + 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
