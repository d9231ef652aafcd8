// SPDX-License-Identifier: Apache-2.0

/// A request that is refused before anything of it is acted upon: its bytes are not HTTP/1.1 as RFC 9112 defines it, or go
/// beyond a bound. The connection ends with the answer, since nobody can say where the next request begins.
public struct RequestProblem: Error, Equatable, Sendable {
  public let status: Int
  /// The cause, in one sentence.
  public let text: String

  public init(_ status: Int, _ text: String) {
    self.status = status
    self.text = text
  }

  static func malformed(_ text: String) -> RequestProblem { RequestProblem(400, text) }
}
