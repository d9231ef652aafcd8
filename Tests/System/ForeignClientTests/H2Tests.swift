// SPDX-License-Identifier: Apache-2.0
import Bytes
import HTTP2
import HTTP2Engine
import JSON
import TestSupport
import Testing

/// Our HTTP/2 engine and Python's h2.
@Suite struct H2Tests {
  private static let count = 60

  @Test func `what the engine writes h2 reads, and the other way round, in pieces of any size`()
    throws
  {
    let folder = TemporaryFolder()
    let session = HTTP2ClientSession(.engine)
    // SETTINGS with 100 streams.
    try [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100].lend { try session.receive($0) }
    let pushes = (0..<Self.count).map { Push($0) }
    var headers = HeaderList()
    for push in pushes { #expect(push.submit(on: session, &headers)) }
    var written = ByteBuffer()
    _ = try session.produceOutput(into: &written, upTo: .max)
    try File.write(folder.file("written"), Array(written.bytes))
    let result = try PythonScript.run(
      "answer_with_h2.py",
      ["--written", folder.file("written"), "--answers", folder.file("answers")], in: folder)
    #expect(result.status == 0, "it printed: \(result.output.suffix(2_000))")
    #expect(result.objects == pushes.map(\.asRead))

    let answers = try File.read(folder.file("answers"))
    var rest = answers[...]
    var piece = 1
    while !rest.isEmpty {
      try Array(rest.prefix(piece)).lend { try session.receive($0) }
      rest = rest.dropFirst(piece)
      piece = piece % 37 + 1
    }
    var completed: [UnsafeMutablePointer<Exchange>] = []
    session.takeCompleted(into: &completed)
    #expect(completed.count == Self.count)
    #expect(pushes.allSatisfy { $0.isAnswered })
  }

  /// A request whose memory stays in place.
  private final class Push {
    private let number: Int
    private let exchange = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
    private let body: UnsafeMutableRawBufferPointer
    private let response = UnsafeMutablePointer<UInt8>.allocate(capacity: 64)
    private var texts: [UnsafeMutableRawBufferPointer] = []

    private var stream: Int { 2 * number + 1 }
    private var path: String { "/3/device/" + String(number, radix: 16) }
    private var id: String { "0f6e1c1e-5a0b-4c55-9d0e-\(100_000_000_000 + number)" }

    init(_ number: Int) {
      self.number = number
      body = .allocate(byteCount: 10 + 30 * number, alignment: 1)
      body.initializeMemory(as: UInt8.self, repeating: 0x7B)
      exchange.initialize(to: Exchange(owner: UInt32(number)))
      exchange.pointee.body = UnsafePointer(body.bindMemory(to: UInt8.self).baseAddress)
      exchange.pointee.bodyCount = UInt32(body.count)
      exchange.pointee.response = response
      exchange.pointee.responseCapacity = 64
      exchange.pointee.sentID = UnsafePointer(
        text(id).bindMemory(to: UInt8.self).baseAddress)
    }

    deinit {
      exchange.deallocate()
      body.deallocate()
      response.deallocate()
      for text in texts { text.deallocate() }
    }

    private func text(_ string: String) -> UnsafeRawBufferPointer {
      let bytes = UnsafeMutableRawBufferPointer.allocate(
        byteCount: string.utf8.count, alignment: 1)
      bytes.copyBytes(from: string.utf8)
      texts.append(bytes)
      return UnsafeRawBufferPointer(bytes)
    }

    /// Every third one is of another app.
    private var topic: String { number % 3 == 0 ? "com.example.other" : "com.example.app" }

    func submit(on session: HTTP2ClientSession, _ headers: inout HeaderList) -> Bool {
      headers.removeAll()
      headers.append(.path, text(path), .never)
      headers.append(":method", "POST")
      headers.append(":scheme", "https")
      headers.append(":authority", "localhost")
      headers.append("authorization", "bearer aaa.bbb.ccc", .raw)
      headers.append("apns-topic", text(topic))
      headers.share(as: number % 3 == 0 ? 1 : 2)
      headers.append(.apnsExpiration, text("\(1_795_000_000 + number)"), .never)
      headers.append(.apnsID, text(id), .never)
      return session.submit(headers, exchange)
    }

    /// As the script prints it.
    var asRead: JSONValue {
      let fields: [[String]] = [
        [":path", path], [":method", "POST"], [":scheme", "https"], [":authority", "localhost"],
        ["authorization", "bearer aaa.bbb.ccc"], ["apns-topic", topic],
        ["apns-expiration", "\(1_795_000_000 + number)"], ["apns-id", id],
      ]
      return [
        "stream": .integer(Int64(stream)),
        "fields": .array(fields.map { .array($0.map { .string($0) }) }),
        "body": .integer(Int64(body.count)),
      ]
    }

    var isAnswered: Bool {
      let isRefused = stream % 3 == 0
      let text = String(decoding: exchange.pointee.responseBytes, as: UTF8.self)
      return exchange.pointee.fate == .answered && exchange.pointee.ended
        && exchange.pointee.status == (isRefused ? 410 : 200) && !exchange.pointee.hasOtherID
        && text == (isRefused ? "{\"reason\":\"Unregistered\"}" : "")
        && exchange.pointee.retryAfter == (isRefused ? 9 : 0)
    }
  }
}

extension [UInt8] {
  /// Lends the bytes to a throwing body whose error keeps its type.
  fileprivate func lend<Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    try withUnsafeBytes { bytes in Result { () throws(Failure) in try body(bytes) } }.get()
  }
}
