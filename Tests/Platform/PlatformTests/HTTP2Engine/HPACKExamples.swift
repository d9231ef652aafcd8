// SPDX-License-Identifier: Apache-2.0
import Testing

/// The header blocks of RFC 7541 Appendix C, with what they say.
struct HPACKExample: Sendable, CustomTestStringConvertible {
  struct Block: Sendable {
    let hex: String
    let fields: [(String, String)]
    /// Size of the compression table behind it, where the RFC shows one.
    let tableSize: Int
  }

  let section: String
  let capacity: Int
  let isHuffman: Bool
  let blocks: [Block]

  var testDescription: String { section }

  private static let requests: [[(String, String)]] = [
    [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")],
    [
      (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com"),
      ("cache-control", "no-cache"),
    ],
    [
      (":method", "GET"), (":scheme", "https"), (":path", "/index.html"),
      (":authority", "www.example.com"), ("custom-key", "custom-value"),
    ],
  ]

  private static let responses: [[(String, String)]] = [
    [
      (":status", "302"), ("cache-control", "private"),
      ("date", "Mon, 21 Oct 2013 20:13:21 GMT"), ("location", "https://www.example.com"),
    ],
    [
      (":status", "307"), ("cache-control", "private"),
      ("date", "Mon, 21 Oct 2013 20:13:21 GMT"), ("location", "https://www.example.com"),
    ],
    [
      (":status", "200"), ("cache-control", "private"),
      ("date", "Mon, 21 Oct 2013 20:13:22 GMT"), ("location", "https://www.example.com"),
      ("content-encoding", "gzip"),
      ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
    ],
  ]

  static let single: [HPACKExample] = [
    HPACKExample(
      section: "C.2.1", capacity: 4_096, isHuffman: false,
      blocks: [
        Block(
          hex: "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
          fields: [("custom-key", "custom-header")], tableSize: 55)
      ]),
    HPACKExample(
      section: "C.2.2", capacity: 4_096, isHuffman: false,
      blocks: [
        Block(
          hex: "040c2f73616d706c652f70617468", fields: [(":path", "/sample/path")], tableSize: 0)
      ]),
    HPACKExample(
      section: "C.2.3", capacity: 4_096, isHuffman: false,
      blocks: [
        Block(
          hex: "100870617373776f726406736563726574", fields: [("password", "secret")], tableSize: 0)
      ]),
    HPACKExample(
      section: "C.2.4", capacity: 4_096, isHuffman: false,
      blocks: [Block(hex: "82", fields: [(":method", "GET")], tableSize: 0)]),
  ]

  static let sequences: [HPACKExample] = [
    HPACKExample(
      section: "C.3", capacity: 4_096, isHuffman: false,
      blocks: [
        Block(hex: "828684410f7777772e6578616d706c652e636f6d", fields: requests[0], tableSize: 57),
        Block(hex: "828684be58086e6f2d6361636865", fields: requests[1], tableSize: 110),
        Block(
          hex: "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
          fields: requests[2], tableSize: 164),
      ]),
    HPACKExample(
      section: "C.4", capacity: 4_096, isHuffman: true,
      blocks: [
        Block(hex: "828684418cf1e3c2e5f23a6ba0ab90f4ff", fields: requests[0], tableSize: 57),
        Block(hex: "828684be5886a8eb10649cbf", fields: requests[1], tableSize: 110),
        Block(
          hex: "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", fields: requests[2],
          tableSize: 164),
      ]),
    HPACKExample(
      section: "C.5", capacity: 256, isHuffman: false,
      blocks: [
        Block(
          hex: "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a32"
            + "3120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
          fields: responses[0], tableSize: 222),
        Block(hex: "4803333037c1c0bf", fields: responses[1], tableSize: 222),
        Block(
          hex: "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a6970"
            + "7738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d61"
            + "67653d333630303b2076657273696f6e3d31",
          fields: responses[2], tableSize: 215),
      ]),
    HPACKExample(
      section: "C.6", capacity: 256, isHuffman: true,
      blocks: [
        Block(
          hex: "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad"
            + "171863c78f0b97c8e9ae82ae43d3",
          fields: responses[0], tableSize: 222),
        Block(hex: "4883640effc1c0bf", fields: responses[1], tableSize: 222),
        Block(
          hex: "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2"
            + "e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
          fields: responses[2], tableSize: 215),
      ]),
  ]
}

/// Bytes of hexadecimal digits.
func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.compactMap { $0.hexDigitValue.map { UInt8($0) } }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
