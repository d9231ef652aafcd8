// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTPClient
import Synchronization

/// Reads all processes, several at a time, so that hanging ones do not delay the readings of others.
final class ProcessSurvey: Sendable {
  /// The timeout for each page of a process, in milliseconds.
  private static let patience = 3_000
  private static let atOnce = 16

  private let pages: [(name: String?, url: String)]
  private let next = Atomic(0)
  private let readings = Mutex<[Int: ProcessReading]>([:])

  init(_ pages: [(name: String?, url: String)]) { self.pages = pages }

  /// Readings in the order of the pages.
  func run() -> [ProcessReading] {
    ask(threads: min(pages.count, Self.atOnce))
    return readings.withLock { found in pages.indices.compactMap { found[$0] } }
  }

  /// Reads on this thread and on further ones; if none can be started it takes longer.
  private func ask(threads: Int) {
    guard threads > 1, let helper = try? LoopThread(name: "reading", { self.askOneByOne() }) else {
      return askOneByOne()
    }
    ask(threads: threads - 1)
    helper.join()
  }

  private func askOneByOne() {
    let client = HTTPClient(timeoutMilliseconds: Self.patience)
    while true {
      let index = next.add(1, ordering: .relaxed).oldValue
      guard index < pages.count else { return }
      let reading = ProcessReading.ask(pages[index].name, pages[index].url, client)
      readings.withLock { $0[index] = reading }
    }
  }
}
