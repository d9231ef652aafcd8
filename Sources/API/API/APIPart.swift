// SPDX-License-Identifier: Apache-2.0
import HTTPServer

/// A part of the HTTP API, which has the exchanges of its resources.
protocol APIPart: AnyObject {
  /// Whether nothing waits.
  var isEmpty: Bool { get }
  /// Takes a part of a body; returns how many of its bytes.
  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int
  /// A body is complete.
  func ended(_ exchange: StreamExchange)
  /// The client has gone.
  func gone(_ exchange: StreamExchange)
  /// Goes on with what had to wait, and answers what has waited for too long.
  func turn()
}
