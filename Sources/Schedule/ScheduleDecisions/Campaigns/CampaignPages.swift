// SPDX-License-Identifier: Apache-2.0

/// The pages of a campaign's audience that were read and that are not done: in the order in which they are addressed,
/// first those handed to Kafka, then those that wait.
struct CampaignPages: Sendable {
  struct Page: Sendable {
    let number: Int
    /// The number of devices.
    let count: Int
    /// The position of the last device.
    let last: String
    /// Milliseconds since the epoch.
    let readAt: Int64
    fileprivate var isProducing = false
    fileprivate var isProduced = false
  }

  private var pages: [Page] = []
  private var lastNumber = 0

  var isEmpty: Bool { pages.isEmpty }
  var count: Int { pages.count }
  var devices: Int { pages.reduce(0) { $0 + $1.count } }
  /// The position of the last device of all pages; nil without a page.
  var last: String? { pages.last?.last }
  var waiting: Page? { pages.first { !$0.isProducing } }

  /// The number of pages handed to Kafka, and of their devices.
  var producing: (pages: Int, devices: Int) {
    let producing = pages.filter(\.isProducing)
    return (producing.count, producing.reduce(0) { $0 + $1.count })
  }

  func contains(_ number: Int) -> Bool { pages.contains { $0.number == number } }

  /// A page was read. Returns its number.
  mutating func add(count: Int, last: String, readAt: Int64) -> Int {
    lastNumber += 1
    pages.append(Page(number: lastNumber, count: count, last: last, readAt: readAt))
    return lastNumber
  }

  /// The page is handed to Kafka.
  mutating func produce(_ number: Int) { update(number) { $0.isProducing = true } }

  /// Kafka's producer has no room for the page: it waits again.
  mutating func postpone(_ number: Int) { update(number) { $0.isProducing = false } }

  /// Kafka has all requests of the page.
  ///
  /// - Returns: the pages that are done, in order: those from the first one on that Kafka has.
  mutating func produced(_ number: Int) -> [Page] {
    update(number) { $0.isProduced = true }
    let done = Array(pages.prefix { $0.isProduced })
    pages.removeFirst(done.count)
    return done
  }

  /// Drops the pages that wait.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  mutating func dropWaiting() -> Bool {
    let count = pages.count
    pages.removeAll { !$0.isProducing }
    return pages.count < count
  }

  private mutating func update(_ number: Int, _ change: (inout Page) -> Void) {
    guard let index = pages.firstIndex(where: { $0.number == number }) else { return }
    change(&pages[index])
  }
}
