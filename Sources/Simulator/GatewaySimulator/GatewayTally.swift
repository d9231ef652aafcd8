// SPDX-License-Identifier: Apache-2.0
import APNS
import ServiceKit
import Synchronization
import Telemetry

/// The counters of a loop.
enum GatewayCounter: Int, CounterKey {
  case connections, requests, accepted, rejected, unregistered, abandoned, recordsDropped, open
  /// Answered in another way than APNs would: a made-up answer, a reset stream, nothing at all.
  case custom, reset, silent
  /// Connections that were refused because there were too many or by a fault, and those that got a GOAWAY.
  case connectionsRefused, goAways
  /// Idle connections that were forgotten without a word.
  case forgotten
  /// The fates of accepted pushes.
  case delivered, stored, discarded, overBudget

  var kind: CounterKind { self == .open ? .gauge : .total }
}

/// The number of times that each reason was given. One writer, any reader.
final class ReasonTally: Sendable {
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>

  init() {
    cells = .allocate(capacity: Reason.allCases.count)
    for index in Reason.allCases.indices { (cells + index).initialize(to: Atomic(0)) }
  }

  deinit { cells.deallocate() }

  func add(_ reason: Reason) {
    cells[Int(reason.rawValue)].wrappingAdd(1, ordering: .relaxed)
  }

  subscript(reason: Reason) -> Int { cells[Int(reason.rawValue)].load(ordering: .relaxed) }
}
