// SPDX-License-Identifier: Apache-2.0
import Contract
import Synchronization

/// Names processes that do not answer any more as they were named while they did: without its name nobody knows whose
/// work is not done.
final class ProcessNames: Sendable {
  private let known = Mutex<[ExactText: String]>([:])

  /// - Parameter url: the address of the reading's pages.
  func named(_ reading: ProcessReading, at url: String) -> ProcessReading {
    known.withLock { known in
      guard reading.page == nil else {
        known[url.exact] = reading.process
        return reading
      }
      let name = known[url.exact] ?? reading.process
      return ProcessReading(process: name, state: reading.state, page: nil)
    }
  }
}
