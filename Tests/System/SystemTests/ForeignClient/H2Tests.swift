// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP
import HTTP2
import Records
import TestSupport
import Testing
import Waiting

/// Our HTTP/2 engine and Python's h2.
@Suite struct H2Tests {
  private static let count = 100
  /// Further runs of the test begin with another one.
  private static let fresh = UInt64.random(in: 1_000...999_999)

  @Test(arguments: [1, 2, 3, fresh])
  func `what the engine writes h2 reads, and the other way round, in pieces of any size`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let folder = TemporaryFolder()
    let session = HTTP2ClientSession(.engine)
    // As many streams, and a connection's window that all bodies fit in, as the script has them.
    try session.hear(.setting(3, Self.count))
    try session.hear(.windowUpdate(1 << 24))
    let shape = PushShape(&random)
    var pushes: [Push] = []
    var headers = HeaderList()
    var written = ByteBuffer()
    for number in 0..<Self.count {
      // The table of compression changes in flight, at most to what h2 has announced.
      if random.below(20) == 0 {
        try session.hear(.setting(1, [0, 64, 300, 4_096][random.below(4)]))
      }
      pushes.append(Push(number, shape, &random))
      #expect(pushes[number].submit(on: session, &headers))
      if random.below(7) == 0 { _ = try session.produceOutput(into: &written, upTo: .max) }
    }
    _ = try session.produceOutput(into: &written, upTo: .max)
    try File.write(folder.file("written"), Array(written.bytes))
    let result = try PythonScript.run(
      "answer_with_h2.py",
      ["--written", folder.file("written"), "--answers", folder.file("answers")], in: folder)
    #expect(result.status == 0, "it printed: \(result.output.suffix(2_000))")
    #expect(result.objects == pushes.map(\.asRead), "seed \(seed)")

    let answers = try File.read(folder.file("answers"))
    var rest = answers[...]
    var piece = 1
    while !rest.isEmpty {
      try Array(rest.prefix(piece)).lend { try session.receive($0) }
      rest = rest.dropFirst(piece)
      piece = piece % 37 + 1
    }
    var completed: [UnsafeMutablePointer<Exchange>] = []
    session.drainCompleted(into: &completed)
    #expect(completed.count == Self.count)
    #expect(pushes.allSatisfy { $0.isAnswered }, "seed \(seed)")
  }

  /// What the pushes of one connection have in common.
  private struct PushShape {
    /// How the provider token is written, and after how many pushes it is renewed.
    let authorization: HeaderIndexing
    let pushesOfToken: Int
    let apps: Int

    init(_ random: inout SeededGenerator) {
      authorization = random.below(2) == 0 ? .never : .allowed
      pushesOfToken = 1 + random.below(30)
      apps = 1 + random.below(40)
    }
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

    private let topic: String
    private let type: String
    private let authorization: HeaderIndexing
    private let token: String
    /// Of the fields that pushes share.
    private let key: UInt64

    private static let types = ["alert", "background", "liveactivity", "voip"]

    init(_ number: Int, _ shape: PushShape, _ random: inout SeededGenerator) {
      self.number = number
      let app = random.below(shape.apps)
      let type = random.below(Self.types.count)
      let renewal = number / shape.pushesOfToken
      topic = "com.example.app-\(app)"
      self.type = Self.types[type]
      authorization = shape.authorization
      token = "bearer \(renewal)." + String(repeating: "aZ0-_", count: 44)
      key = UInt64(1 + app + 100 * type + 1_000 * renewal)
      let sizes = [0, 1, 262, 4_096, 5_120, 16_384, 16_385]
      body = .allocate(byteCount: sizes[random.below(sizes.count)], alignment: 1)
      body.initializeMemory(as: UInt8.self, repeating: 0x7B)
      exchange.initialize(to: Exchange(owner: UInt32(number)))
      exchange.pointee.body = UnsafePointer(body.bindMemory(to: UInt8.self).baseAddress)
      exchange.pointee.bodyCount = UInt32(body.count)
      exchange.pointee.response = response
      exchange.pointee.responseCapacity = 64
      exchange.pointee.sentID = UnsafePointer(text(id).bindMemory(to: UInt8.self).baseAddress)
    }

    deinit {
      exchange.deallocate()
      body.deallocate()
      response.deallocate()
      for text in texts { text.deallocate() }
    }

    private func text(_ string: String) -> UnsafeRawBufferPointer {
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: string.utf8.count, alignment: 1)
      bytes.copyBytes(from: string.utf8)
      texts.append(bytes)
      return UnsafeRawBufferPointer(bytes)
    }

    func submit(on session: HTTP2ClientSession, _ headers: inout HeaderList) -> Bool {
      headers.removeAll()
      headers.append(.path, text(path), .never)
      headers.append(":method", "POST")
      headers.append(":scheme", "https")
      headers.append(":authority", "localhost")
      headers.append("authorization", text(token), authorization)
      headers.append("apns-topic", text(topic))
      headers.append("apns-push-type", text(type))
      headers.share(as: key)
      headers.append(.apnsExpiration, text("\(1_795_000_000 + number)"), .never)
      headers.append(.apnsID, text(id), .never)
      return session.submit(headers, exchange)
    }

    /// As the script prints it.
    var asRead: JSONValue {
      let fields: [[String]] = [
        [":path", path], [":method", "POST"], [":scheme", "https"], [":authority", "localhost"],
        ["authorization", token], ["apns-topic", topic], ["apns-push-type", type],
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
        && exchange.pointee.retryAfter(now: 0) == (isRefused ? 9 : 0)
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

/// A frame of a server.
private enum ServerFrame {
  case setting(_ id: UInt8, _ value: Int)
  /// Of the connection.
  case windowUpdate(Int)

  var bytes: [UInt8] {
    switch self {
    case .setting(let id, let value): [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, id] + Self.number(value)
    case .windowUpdate(let increment): [0, 0, 4, 8, 0, 0, 0, 0, 0] + Self.number(increment)
    }
  }

  private static func number(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}

extension HTTP2ClientSession {
  fileprivate func hear(_ frame: ServerFrame) throws { try frame.bytes.lend { try receive($0) } }
}
