// SPDX-License-Identifier: Apache-2.0

public import APNS
internal import CSimdjson
public import Pipeline

/// Checks payloads by themselves, with the parser and the rules that requests go through. Keeps its buffers;
/// belongs to one thread.
public final class PayloadReader {
  private let handle: OpaquePointer

  public init() { handle = martlet_json_create() }

  deinit { martlet_json_destroy(handle) }

  /// What a body holds. Throws where it is no JSON object, or has a key twice.
  public func facts(_ body: UnsafeRawBufferPointer) throws(RequestError) -> PayloadFacts {
    var facts = martlet_payload()
    var error = martlet_json_error()
    let bytes = body.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let code = martlet_json_read_payload(handle, bytes, body.count, &facts, &error)
    guard code == 0 else { throw RequestError(error, in: body) }
    return PayloadFacts(facts)
  }

  /// Checks a body's size, JSON and content against its push type.
  public func check(
    _ body: UnsafeRawBufferPointer, type: PushType, isBroadcast: Bool = false,
    isPass: Bool = false
  ) throws(RequestError) {
    try RequestRules.checkPayload(body.count, type: type, isBroadcast: isBroadcast)
    try PayloadRules.check(
      try facts(body), type: type, isBroadcast: isBroadcast, isPass: isPass)
  }
}

extension PayloadFacts {
  init(_ raw: martlet_payload) {
    self.init(
      low: raw.values.0, high: raw.values.1, members: raw.members,
      hasAlertText: raw.alert_text != 0, hasOddLevel: raw.odd_level != 0, late: raw.late)
  }
}
