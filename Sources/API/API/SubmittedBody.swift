// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import HTTPServer

/// The body of a submission: what has arrived of it and was not passed, and where its next request is.
final class SubmittedBody {
  enum Shape { case single, array, lines }

  var splitter: ItemSplitter
  var inflater: Inflater?
  var buffer = ByteBuffer(capacity: 4_096)
  /// Nothing more arrives.
  var isComplete = false
  private var item: Range<Int>?
  /// Blanks at the front of a document that were looked at.
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

  /// Whether nothing will be added to `buffer`.
  var isWhole: Bool { isComplete && !(inflater?.hasMore ?? false) }

  /// The body ends in the middle of its packed form.
  var isCutOff: Bool { isWhole && !(inflater?.isComplete ?? true) }

  /// The next request in the body, as a range of `buffer`, the same until `passItem`. A single one comes when the body
  /// has ended behind it.
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

  /// Each blank before a document is looked at once, in however small pieces they come.
  private func beginsArray(_ bytes: Span<UInt8>) -> Bool {
    while blanks < bytes.count, bytes[blanks] <= 0x20 { blanks += 1 }
    return blanks < bytes.count && bytes[blanks] == UInt8(ascii: "[")
  }

  func removePassed() {
    buffer.removeFirst(splitter.passed)
    splitter.removedPassed()
  }

  /// Nothing more of it is looked at.
  func drop() {
    buffer = ByteBuffer(capacity: 16)
    inflater = nil
    item = nil
  }
}
