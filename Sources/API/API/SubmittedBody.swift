// SPDX-License-Identifier: Apache-2.0
import Access
import EventLoop
import HTTPServer

/// The body of a submission: the bytes received and not yet passed, and the position of its next request.
final class SubmittedBody {
  enum Shape { case single, array, lines }

  var splitter: ItemSplitter
  var inflater: Inflater?
  var buffer = ByteBuffer(capacity: 4_096)
  var isComplete = false
  private var item: Range<Int>?
  /// The number of leading blanks of a document already scanned.
  private var blanks = 0

  init(_ form: ItemSplitter.Form, isPacked: Bool) {
    splitter = ItemSplitter(form)
    inflater = isPacked ? Inflater() : nil
  }

  var shape: Shape {
    switch splitter.form {
    case .lines: .lines
    case .document: splitter.isArray ? .array : .single
    }
  }

  /// Whether `buffer` will not grow any more.
  var isWhole: Bool { isComplete && !(inflater?.hasMore ?? false) }

  /// Whether the body ends in the middle of its compressed form.
  var isCutOff: Bool { isWhole && !(inflater?.isComplete ?? true) }

  /// The next request in the body, as a range of `buffer`; the same until `passItem`. A single request is returned once
  /// the body has ended.
  func next() throws(ItemSplitter.Problem) -> Range<Int>? {
    if let item { return item }
    item = try find()
    return item
  }

  func passItem() { item = nil }

  private func find() throws(ItemSplitter.Problem) -> Range<Int>? {
    let isEnd = isWhole
    return try buffer.withSpan { (bytes) throws(ItemSplitter.Problem) in
      if splitter.form == .document, !splitter.isArray, !isEnd, !beginsArray(bytes) { return nil }
      let item = try splitter.next(in: bytes, isEnd: isEnd)
      if item != nil, shape == .single { _ = try splitter.next(in: bytes, isEnd: isEnd) }
      return item
    }
  }

  /// Scans each blank before a document only once, however small the received pieces are.
  private func beginsArray(_ bytes: Span<UInt8>) -> Bool {
    while blanks < bytes.count, bytes[blanks] <= 0x20 { blanks += 1 }
    return blanks < bytes.count && bytes[blanks] == UInt8(ascii: "[")
  }

  func removePassed() {
    buffer.removeFirst(splitter.passed)
    splitter.removedPassed()
  }

  func drop() {
    buffer = ByteBuffer(capacity: 16)
    inflater = nil
    item = nil
  }
}
