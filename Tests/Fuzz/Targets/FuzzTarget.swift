// SPDX-License-Identifier: Apache-2.0

/// One parser of bytes from outside, with what must hold whatever the bytes are.
struct FuzzTarget {
  /// Its name on the command line, and of its folder in `Corpus`.
  let name: String
  /// Parses an input. Says which invariant it breaks, or nil.
  let violation: (UnsafeRawBufferPointer) -> String?

  init(_ name: String, _ violation: @escaping (UnsafeRawBufferPointer) -> String?) {
    self.name = name
    self.violation = violation
  }

  /// Every target.
  static let all: @Sendable () -> [FuzzTarget] = {
    [
      // Records of the topics, and JSON itself.
      request(), envelope(), json(), receipt(), providerToken(), sealedToken(), device(),
      feedback(), offsetMap(), deadLetter(), inspection(), statusPage(),
      // The same records, and what works on them.
      signerRecords(), senderRecords(), feedbackRecords(), webhookRecords(), operatorRecords(),
      foreignRequests(), schedulerRecords(), controlRecords(), requestRecords(),
      // What the gateway, a proxy and a resolver's file say.
      answer(), clientSession(), engineSession(), bothSessions(), engineRequests(), proxyAnswer(),
      hosts(), gatewayReport(),
      // What clients say to the simulator, and operators to the control ports.
      serverSession(), gatewayRequest(), admin(), faultScript(), brokerControl(),
      brokerRequests(),
      // And to the HTTP API.
      httpRequest(), campaign(),
      // Settings, and the files that they name.
      properties(), settings(), forms(), proxy(), credentials(), certificates(), certificate(),
      keyFile(), pemFile(), subscriptions(), schedule(), zoneFile(),
    ] + tokenFiles()
  }

  static func named(_ name: String) -> FuzzTarget? { all().first { $0.name == name } }
}

/// An invariant that an input broke.
struct Violation: Error {
  let text: String

  init(_ text: String) { self.text = text }

  /// Throws unless the condition holds.
  static func unless(_ condition: Bool, _ text: @autoclosure () -> String) throws(Violation) {
    if !condition { throw Violation(text()) }
  }
}

extension FuzzTarget {
  /// A target whose check throws.
  init(
    _ name: String, checking check: @escaping (UnsafeRawBufferPointer) throws(Violation) -> Void
  ) {
    self.init(name) { bytes in
      do throws(Violation) {
        try check(bytes)
        return nil
      } catch {
        return error.text
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes as a span of the parser's kind.
  var octets: UnsafeBufferPointer<UInt8> { bindMemory(to: UInt8.self) }
  /// The bytes as text; what is no UTF-8 is replaced.
  var text: String { String(decoding: self, as: UTF8.self) }
}

extension [UInt8] {
  /// Lends the bytes to a throwing body whose error keeps its type.
  func lend<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBytes { bytes in
      Swift.Result { () throws(Failure) in try body(bytes) }
    }.get()
  }
}
