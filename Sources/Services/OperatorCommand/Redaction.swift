// SPDX-License-Identifier: Apache-2.0

/// Takes secrets out of text for people.
enum Redaction {
  /// A run of hex digits this long is taken for a device token; an apns-id has shorter ones.
  private static let shortestToken = 32

  /// The first eight digits of a device token.
  static func shortened(_ token: String) -> String {
    token.count > 8 ? token.prefix(8) + "…" : token
  }

  /// The text with every provider token (`eyJ….….…`) hidden, and every device token shortened if
  /// asked for.
  static func applied(to text: String, deviceTokens: Bool) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let word = bytes[index...].prefix(while: isTokenByte)
      if word.isEmpty {
        result.append(bytes[index])
        index += 1
        continue
      }
      index = word.endIndex
      if isProviderToken(word) {
        result += "(provider token)".utf8
      } else {
        append(word, &result, shorten: deviceTokens)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// What base64url and the dots between a token's parts are made of.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }

  private static func isProviderToken(_ word: ArraySlice<UInt8>) -> Bool {
    word.starts(with: "eyJ".utf8) && word.count > 40
  }

  private static func append(
    _ word: ArraySlice<UInt8>, _ result: inout [UInt8], shorten: Bool
  ) {
    var rest = word
    while let start = rest.firstIndex(where: isHexDigit) {
      result += rest[..<start]
      let run = rest[start...].prefix(while: isHexDigit)
      if shorten && run.count >= shortestToken {
        result += run.prefix(8)
        result += "…".utf8
      } else {
        result += run
      }
      rest = rest[run.endIndex...]
    }
    result += rest
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
