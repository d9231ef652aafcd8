// SPDX-License-Identifier: Apache-2.0

extension ClientEngine {
  /// Looks ahead in bytes that `next` is still to take: the owner's number of the next request that they answer. A hint:
  /// bytes that do not begin with a frame give none or another.
  ///
  /// - Parameter position: where to look on; moved.
  /// - Returns: nil at the end.
  public func nextAnswered(in input: Span<UInt8>, at position: inout Int) -> UInt? {
    while position + FrameHeader.count <= input.count {
      let header = FrameHeader(input, at: position)
      position += FrameHeader.count + header.length
      guard header.type == FrameType.headers.rawValue else { continue }
      if let slot = streams.slot(of: header.stream) { return streams[slot].token }
    }
    return nil
  }
}
