// SPDX-License-Identifier: Apache-2.0
import Contract
import Synchronization

/// The number of responses by reason. One writer, any number of readers.
final class ReasonTally: Sendable {
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>

  init() {
    cells = .allocate(capacity: Reason.allCases.count)
    for index in Reason.allCases.indices { (cells + index).initialize(to: Atomic(0)) }
  }

  deinit { cells.deallocate() }

  func add(_ reason: Reason) { cells[Int(reason.rawValue)].wrappingAdd(1, ordering: .relaxed) }

  subscript(reason: Reason) -> Int { cells[Int(reason.rawValue)].load(ordering: .relaxed) }
}
