// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// Hands a response to libmicrohttpd.
enum Reply {
  static func queue(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
    guard let native = make(response.body) else { return .NO }
    defer { MHD_destroy_response(native) }
    MHD_add_response_header(native, "Content-Type", response.contentType)
    for header in response.headers { MHD_add_response_header(native, header.name, header.value) }
    return MHD_queue_response(connection, UInt32(response.status), native)
  }

  private static func make(_ body: HTTPResponse.Body) -> OpaquePointer? {
    switch body {
    case .bytes(var bytes):
      return bytes.withUnsafeMutableBytes { buffer in
        MHD_create_response_from_buffer(buffer.count, buffer.baseAddress, .RESPMEM_MUST_COPY)
      }
    case .file(let descriptor, let count):
      return MHD_create_response_from_fd64(UInt64(count), descriptor)
    case .pieces(let next):
      let source = Unmanaged.passRetained(PieceSource(next))
      return MHD_create_response_from_callback(
        martlet_http_size_unknown(), 64 << 10, readPiece, source.toOpaque(), freePieces)
    }
  }
}

/// The rest of the current piece, and where the next one comes from.
private final class PieceSource {
  private let next: () -> [UInt8]?
  private var piece: ArraySlice<UInt8> = []

  init(_ next: @escaping () -> [UInt8]?) { self.next = next }

  /// Fills the buffer as far as pieces reach; 0 at the end.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    while filled < buffer.count {
      if piece.isEmpty {
        guard let more = next() else { break }
        piece = more[...]
      }
      let part = piece.prefix(buffer.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyBytes(from: part)
      piece = piece.dropFirst(part.count)
      filled += part.count
    }
    return filled
  }
}

private func readPiece(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?,
  _ limit: Int
) -> Int {
  guard let context, let buffer else { return -2 }
  let source = Unmanaged<PieceSource>.fromOpaque(context).takeUnretainedValue()
  let filled = source.fill(UnsafeMutableRawBufferPointer(start: buffer, count: limit))
  return filled > 0 ? filled : -1
}

private func freePieces(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<PieceSource>.fromOpaque(context).release() }
}

/// The query of a request.
enum Query {
  static func parts(of connection: OpaquePointer) -> [(name: String, value: String)] {
    var parts: [(name: String, value: String)] = []
    withUnsafeMutablePointer(to: &parts) { pointer in
      _ = MHD_get_connection_values(
        connection, .GET_ARGUMENT_KIND,
        { context, _, name, value in
          guard let context, let name else { return .NO }
          let parts = context.assumingMemoryBound(to: [(name: String, value: String)].self)
          parts.pointee.append((String(cString: name), value.map { String(cString: $0) } ?? ""))
          return .YES
        }, pointer)
    }
    return parts
  }
}
