// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Records
public import Webhooks

/// The file of subscriptions: a JSON array of objects with `name`, `url`, `secrets` and `events`, and optionally
/// `apps`, `reasons`, `since`, `max_events`, `max_bytes`, `linger_ms` and `timeout_ms`. docs/webhooks.md explains them.
public enum SubscriptionFile {
  public struct Failure: Error, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// The most endpoints of a process: each is a member of its own consumer group, with its threads and connections.
  public static let most = 100

  /// - Throws: if others can read the file, which holds secrets, if it cannot be read, or if it is invalid.
  public static func read(_ path: String, allowsHTTP: Bool) throws(Failure) -> [Subscription] {
    let bytes: [UInt8]
    let problem: String?
    do throws(SystemError) {
      problem = try File.exposure(of: path)
      bytes = try File.read(path, limit: 1 << 20)
    } catch {
      throw Failure(description: "\(error)")
    }
    if let problem { throw Failure(description: problem) }
    return try parse(bytes, path, allowsHTTP: allowsHTTP)
  }

  public static func parse(
    _ bytes: [UInt8], _ path: String, allowsHTTP: Bool
  ) throws(Failure) -> [Subscription] {
    let root: JSONValue
    do throws(JSONError) { root = try JSONDocument(bytes).root } catch {
      throw Failure(description: "\(path): \(error)")
    }
    guard let list = root.array else {
      throw Failure(description: "\(path): is not a JSON array of subscriptions")
    }
    guard !list.isEmpty else { throw Failure(description: "\(path): has no subscription") }
    guard list.count <= most else {
      throw Failure(
        description: "\(path): has \(list.count) subscriptions, and one process serves \(most);"
          + " divide them among files, each with a process of its own")
    }
    var subscriptions: [Subscription] = []
    for (index, entry) in list.enumerated() {
      var reader = SubscriptionEntry(
        entry: entry, place: "\(path): subscription \(index + 1)", allowsHTTP: allowsHTTP)
      let subscription = try reader.read()
      guard !subscriptions.contains(where: { $0.name == subscription.name }) else {
        throw Failure(
          description: "\(path): subscription \(index + 1): the name \"\(subscription.name)\" is"
            + " given twice")
      }
      subscriptions.append(subscription)
    }
    return subscriptions
  }
}

private struct SubscriptionEntry {
  private static let members: Set = [
    "name", "url", "secrets", "events", "apps", "reasons", "since", "max_events", "max_bytes",
    "linger_ms", "timeout_ms",
  ]

  let entry: JSONValue
  let place: String
  let allowsHTTP: Bool
  var object = JSONObject()

  private func failure(_ words: String) -> SubscriptionFile.Failure {
    .init(description: "\(place): \(words)")
  }

  mutating func read() throws(SubscriptionFile.Failure) -> Subscription {
    guard let object = entry.object else { throw failure("is not an object") }
    self.object = object
    if let twice = object.duplicateKey { throw failure("\(twice): stands twice") }
    if let unknown = object.keys.first(where: { !Self.members.contains($0) }) {
      throw failure("\(unknown): is not a member of a subscription")
    }
    guard let name = object["name"]?.string, Subscription.isName(name) else {
      throw failure("name: 1 to 64 letters, digits, - and _ are required")
    }
    guard let url = object["url"]?.string else { throw failure("url: is required") }
    if let problem = WebhookURL.problem(url, allowsHTTP: allowsHTTP) {
      throw failure("url: \(problem)")
    }
    var subscription = Subscription(name: name, url: url, keys: try keys(), kinds: try kinds())
    subscription.apps = try plainTexts("apps")
    subscription.reasons = try plainTexts("reasons")
    subscription.since = try number("since", 0...OutsideTime.last)
    // In seconds it would be a time in 1970: all that the topics have would be sent.
    if let problem = subscription.since.flatMap(OutsideTime.problem) {
      throw failure("since: \(problem)")
    }
    try readLimits(&subscription)
    return subscription
  }

  private func readLimits(_ subscription: inout Subscription) throws(SubscriptionFile.Failure) {
    if let events = try number("max_events", 1...1_000) { subscription.limits.events = Int(events) }
    if let bytes = try number("max_bytes", 1_024...524_288) {
      subscription.limits.bytes = Int(bytes)
    }
    if let linger = try number("linger_ms", 0...60_000) {
      subscription.limits.linger = UInt64(linger)
    }
    if let timeout = try number("timeout_ms", 100...60_000) { subscription.timeout = Int(timeout) }
  }

  /// Errors show nothing of a secret.
  private func keys() throws(SubscriptionFile.Failure) -> [[UInt8]] {
    let secrets = object["secrets"]?.array ?? []
    guard (1...5).contains(secrets.count) else {
      throw failure("secrets: is not an array of 1 to 5 secrets")
    }
    var keys: [[UInt8]] = []
    for secret in secrets {
      guard let key = secret.string.flatMap(WebhookSignature.key) else {
        throw failure(
          "secrets: one is not whsec_ and 24 to 64 bytes in base64, as of:"
            + " echo whsec_$(openssl rand -base64 32)")
      }
      keys.append(key)
    }
    return keys
  }

  private func kinds() throws(SubscriptionFile.Failure) -> Set<EventKind> {
    guard let names = try texts("events") else { throw failure("events: is required") }
    var kinds: Set<EventKind> = []
    for name in names.sorted() {
      let named = EventKind.named(name.text)
      guard !named.isEmpty else { throw failure("events: \"\(name)\" is not an event") }
      kinds.formUnion(named)
    }
    return kinds
  }

  private func texts(_ member: String) throws(SubscriptionFile.Failure) -> Set<ExactText>? {
    guard let value = object[member] else { return nil }
    let texts = value.array?.compactMap(\.string) ?? []
    guard !texts.isEmpty, texts.count == value.array?.count else {
      throw failure("\(member): is not an array of texts")
    }
    return Set(texts.map(\.exact))
  }

  /// Texts that are compared as they are: a pattern would match no event. `*` alone is all of them, as in other files;
  /// nil for that.
  private func plainTexts(_ member: String) throws(SubscriptionFile.Failure) -> Set<ExactText>? {
    guard let texts = try texts(member), texts != ["*"] else { return nil }
    if let pattern = texts.sorted().first(where: { $0.utf8.contains(UInt8(ascii: "*")) }) {
      throw failure("\(member): \"\(pattern)\" is a pattern; name each, or leave it out for all")
    }
    return texts
  }

  private func number(
    _ member: String, _ range: ClosedRange<Int64>
  ) throws(SubscriptionFile.Failure) -> Int64? {
    guard let value = object[member] else { return nil }
    guard let number = value.int(range) else {
      throw failure("\(member): is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
