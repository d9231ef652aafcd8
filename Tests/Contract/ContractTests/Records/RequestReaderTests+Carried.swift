// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Records
import Testing

extension RequestReaderTests {
  @Test func `name header fields of their own, which nothing else sets`() throws {
    func headers(_ object: String) -> RequestError.Problem? {
      error(Self.request(#","headers":\#(object)"#))?.problem
    }
    func member(_ problem: RequestError.Problem) -> RequestError.Problem {
      .member("apns-x", problem)
    }
    #expect(headers(#"{"apns-new-thing":"x","apns-9.b":"~ !"}"#) == nil)
    for name in CarriedHeaders.reserved + ["apns-collapse-id"] {
      #expect(headers(#"{"\#(name)":"x"}"#) == .member(name, .headerName(.reserved)))
    }
    for name in ["", "apns-", "Apns-x", "apns-X", "apns-a b", "apns-a:", "x", ":path", "apns-é"] {
      #expect(headers(#"{"\#(name)":"x"}"#) == .member(name, .headerName(.malformed)))
    }
    #expect(headers(#"{"apns-x":""}"#) == member(.emptyText))
    for (value, character, place) in [
      (" a", "a blank", 0), ("a ", "a blank", 1), (#"a\r"#, "U+000D", 1), ("é", "\"é\"", 0),
      (#"\u0000"#, "U+0000", 0), ("a\u{7F}", "U+007F", 1),
    ] {
      #expect(
        headers(#"{"apns-x":"\#(value)"}"#) == member(.forbiddenCharacter(character, at: place)))
    }
    #expect(headers(#"{"apns-x":1}"#) == member(.notA("a string")))
    #expect(headers(#"{"apns-x":null}"#) == member(.notA("a string")))
    #expect(headers(#"["apns-x"]"#) == .notA("an object"))
    #expect(headers(#"{"apns-x":"1","apns-\u0078":"2"}"#) == member(.duplicate))
    let many = (0..<9).map { #""apns-\#($0)":"x""# }
    #expect(headers("{\(many.prefix(8).joined(separator: ","))}") == nil)
    #expect(headers("{\(many.joined(separator: ","))}") == .tooMany(limit: 8))
    func sized(_ count: Int) -> String {
      #"{"apns-x":"\#(String(repeating: "v", count: count - 6))"}"#
    }
    #expect(headers(sized(256)) == nil)
    #expect(headers(sized(257)) == .tooLong(bytes: 257, limit: 256))
  }

  @Test func `requests give data that comes back`() throws {
    func data(_ object: String) -> RequestError.Problem? {
      error(Self.request(#","data":\#(object)"#))?.problem
    }
    for object in ["{}", #"{"":""}"#, #"{"a":"b","c":"d"}"#, #"{"a":"\ud83d\ude00\u0000\t"}"#] {
      #expect(data(object) == nil)
    }
    for object in [#"{"a":{"b":"c"}}"#, #"{"a":1}"#] {
      #expect(data(object) == .member("a", .notA("a string")))
    }
    #expect(data(#""x""#) == .notA("an object"))
    #expect(data(#"{"a":"1","\u0061":"2"}"#) == .member("a", .duplicate))
    for object in [#"{"a":"\ud800"}"#, #"{"a":"b""#] {
      guard case .malformed = data(object) else {
        Issue.record("\(object)")
        continue
      }
    }
    func sized(_ count: Int) -> String {
      #"{ "k" : "\#(String(repeating: "d", count: count - 8))" }"#
    }
    #expect(data(sized(512)) == nil)
    #expect(data(sized(513)) == .tooLong(bytes: 513, limit: 512))
    let members = (0..<129).map { #""\#($0)":"""# }.joined(separator: ",")
    #expect(data("{\(members)}") == .tooMany(limit: 128))
    try read(Self.request(#","data":{ "a" : "b" }"#)) { request in
      var text = ByteBuffer()
      request.data?.appendObject(to: &text)
      #expect(Self.string(text.bytes) == #"{"a":"b"}"#)
    }
    try read(Self.request("")) { #expect($0.data == nil && $0.headers.isEmpty) }
  }

  @Test func `requests carry so much together, the id as it stands among it`() throws {
    func text(_ idCount: Int) -> String {
      let id = String(repeating: #"\u00e9"#, count: idCount / 6)
      return Self.request(
        #","id":"\#(id)","data":{"k":"\#(String(repeating: "d", count: 504))"},"#
          + #""headers":{"apns-x":"\#(String(repeating: "v", count: 250))"}"#)
    }
    #expect(error(text(288)) == nil)
    let refused = error(text(294))
    #expect(refused?.problem == .carriesTooMuch(bytes: 1_062, limit: 1_056))
    // The sentence names all that counts.
    #expect(
      refused?.description
        == "request: id, collapse_id, group, supersede, headers and data have 1062 bytes together, more than 1056"
    )
  }

  @Test func `group and supersede count among what a request carries`() {
    func text(_ groupCount: Int) -> String {
      let sizes = [("id", 120), ("collapse_id", 64), ("group", groupCount), ("supersede", 64)]
      let texts = sizes.map { #","\#($0)":"\#(String(repeating: "x", count: $1))""# }
      let data = #","data":{"k":"\#(String(repeating: "d", count: 504))"}"#
      let headers = #","headers":{"apns-x":"\#(String(repeating: "v", count: 250))"}"#
      return Self.request(texts.joined() + data + headers)
    }
    #expect(error(text(40)) == nil)
    #expect(error(text(41))?.problem == .carriesTooMuch(bytes: 1_057, limit: 1_056))
  }
}
