// SPDX-License-Identifier: Apache-2.0
import HTTP

extension FuzzTarget {
  /// A request to the HTTP API or the status pages: in pieces of any size (the first byte) it means the same; what was
  /// read of it is within its bounds.
  static func httpRequest() -> FuzzTarget {
    FuzzTarget("http-request") { bytes in
      let rest = Array(bytes.dropFirst())
      let whole = Reading(rest, in: rest.count)
      let parts = Reading(rest, in: max(1, Int(bytes.first ?? 0)))
      guard whole == parts else { return "in pieces it means \(parts), not \(whole)" }
      guard let head = whole.head else { return nil }
      guard head.fields.count <= RequestHead.mostFields else { return "too many fields" }
      if head.isVersion11, head.host.isEmpty { return "no host" }
      return head.target.path.hasPrefix("/") ? nil : "a path that is none"
    }
  }

  /// One request.
  private struct Reading: Equatable {
    private(set) var head: RequestHead?
    private var content: [UInt8] = []
    private var isWhole = false
    private var problem: RequestProblem?

    init(_ all: [UInt8], in piece: Int) {
      var scanner = HeadScanner()
      var chunks = ChunkedBody()
      var buffer: [UInt8] = []
      for start in stride(from: 0, to: all.count, by: max(1, piece)) {
        buffer += all[start..<min(start + piece, all.count)]
        do throws(RequestProblem) {
          if head == nil {
            guard let found = try scanner.find(in: buffer.span) else { continue }
            head = try RequestHead(buffer.span.extracting(found))
            buffer.removeFirst(found.upperBound)
          }
          guard head?.framing == .chunked else { continue }
          while !isWhole, try step(&chunks, &buffer) {}
        } catch {
          problem = error
          return
        }
      }
    }

    private mutating func step(
      _ chunks: inout ChunkedBody, _ buffer: inout [UInt8]
    ) throws(RequestProblem) -> Bool {
      switch try chunks.next(buffer.span) {
      case .wait: return false
      case .skip(let count): buffer.removeFirst(count)
      case .data(let count):
        content += buffer[..<count]
        buffer.removeFirst(count)
        chunks.took(count)
      case .end(let count):
        buffer.removeFirst(count)
        isWhole = true
      }
      return true
    }
  }
}
