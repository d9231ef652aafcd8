// SPDX-License-Identifier: Apache-2.0

internal import CSimdjson

/// The reason why a text is not JSON.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The mistake by name (`JSONMistake`), otherwise the parser's message.
  public let problem: String
  /// The byte of the text at which it was found.
  public let offset: Int

  public var description: String { "not valid JSON: \(problem) (byte \(offset))" }
}

/// Parses JSON text into values. Reuses its buffers; belongs to one thread.
public final class JSONParser {
  /// The version of simdjson.
  public static let libraryVersion = String(cString: martlet_json_library_version())

  private let handle: OpaquePointer

  public init() { handle = martlet_json_create("") }

  deinit { martlet_json_destroy(handle) }

  /// The single value in the text. Throws the fault and its position.
  public func parse(_ text: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
    var nodes: UnsafePointer<martlet_node>?
    var count = 0
    var error = martlet_json_error()
    let bytes = text.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let code = martlet_json_read_document(handle, bytes, text.count, &nodes, &count, &error)
    guard code == 0 else {
      if let mistake = JSONMistake.find(in: text) {
        throw JSONError(problem: mistake.problem, offset: mistake.offset)
      }
      let words = error.words.map { String(cString: $0) } ?? "unknown"
      throw JSONError(problem: words, offset: error.offset)
    }
    var tree = NodeReader(nodes: UnsafeBufferPointer(start: nodes, count: count))
    return tree.next()
  }

  /// True if the text is a single JSON object. Creates no values.
  public func isObject(_ text: UnsafeRawBufferPointer) -> Bool {
    var nodes: UnsafePointer<martlet_node>?
    var count = 0
    var error = martlet_json_error()
    let bytes = text.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let code = martlet_json_read_document(handle, bytes, text.count, &nodes, &count, &error)
    return code == 0 && nodes.map { Int($0.pointee.kind) == MARTLET_NODE_OBJECT } ?? false
  }

  public func parse(_ text: [UInt8]) throws(JSONError) -> JSONValue {
    // withUnsafeBytes rethrows untyped errors, so the error is returned in the result.
    try text.withUnsafeBytes { bytes in Result { () throws(JSONError) in try parse(bytes) } }.get()
  }

  public func parse(_ text: String) throws(JSONError) -> JSONValue { try parse(Array(text.utf8)) }
}

/// A text parsed in one call: `JSONDocument(text).root["aps"]?["badge"]?.int`.
public struct JSONDocument: Equatable, Sendable {
  public let root: JSONValue

  public init(_ text: [UInt8]) throws(JSONError) { root = try JSONParser().parse(text) }

  public init(_ text: String) throws(JSONError) { root = try JSONParser().parse(text) }

  public init(_ text: UnsafeRawBufferPointer) throws(JSONError) {
    root = try JSONParser().parse(text)
  }
}

/// Builds values from the parser's nodes, which are in document order.
private struct NodeReader {
  let nodes: UnsafeBufferPointer<martlet_node>
  var position = 0

  mutating func next() -> JSONValue {
    let node = nodes[position]
    position += 1
    switch Int(node.kind) {
    case MARTLET_NODE_FALSE: return .bool(false)
    case MARTLET_NODE_TRUE: return .bool(true)
    // -0 would lose its sign as an integer.
    case MARTLET_NODE_INTEGER where node.integer == 0 && node.text.count > 1:
      return .digits(text(node.text))
    case MARTLET_NODE_INTEGER: return .integer(node.integer)
    case MARTLET_NODE_DOUBLE: return .digits(text(node.text))
    case MARTLET_NODE_STRING: return .string(text(node.text))
    case MARTLET_NODE_ARRAY: return array(Int(node.members))
    case MARTLET_NODE_OBJECT: return object(Int(node.members))
    default: return .null
    }
  }

  private mutating func array(_ count: Int) -> JSONValue {
    var elements: [JSONValue] = []
    elements.reserveCapacity(count)
    for _ in 0..<count { elements.append(next()) }
    return .array(elements)
  }

  private mutating func object(_ count: Int) -> JSONValue {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(count)
    for _ in 0..<count {
      let key = text(nodes[position].key)
      members.append(.init(key: key, value: next()))
    }
    return .object(JSONObject(members))
  }

  private func text(_ slice: martlet_slice) -> String {
    String(decoding: UnsafeBufferPointer(start: slice.bytes, count: slice.count), as: UTF8.self)
  }
}
