// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The open connections of a server, and who leaves when there are too many.
///
/// A connection without an accepted request is a guest: at the limit a newcomer takes the place of the oldest guest, from
/// the address that has the most of them. A request that was accepted is never ended by newcomers without one. Requests
/// that were accepted hold all but a reserve of the connections; beyond it one of an owner with at least as many makes
/// room if it has been silent, otherwise the new one is refused.
public struct OpenClients: Sendable {
  /// After so long without a byte an accepted request makes room for another at the limit, in milliseconds.
  public static let silence: UInt64 = 2_000

  private struct Client: Sendable {
    let address: [UInt8]
    /// Its place in the order of those that came, or were answered.
    var turn: UInt64
    /// The owner of its accepted request.
    var owner: ExactText?
    /// When a byte came last, or of an answer went; nil while the server itself does not read.
    var heard: UInt64?
  }

  private var clients: [Int: Client] = [:]
  private var turns: UInt64 = 0
  private var accepted = 0
  private let limit: Int

  /// - Parameter limit: how many may be open, at least 8.
  public init(limit: Int) { self.limit = limit }

  public var count: Int { clients.count }

  /// The treatment of a newcomer.
  public enum Entry: Equatable, Sendable {
    case enters
    /// After this one has left.
    case replaces(Int)
    case refused
  }

  public mutating func enter(_ id: Int, from address: [UInt8], now: UInt64) -> Entry {
    var replaced: Int?
    if clients.count >= limit {
      guard let guest = oldestGuest() else { return .refused }
      left(guest)
      replaced = guest
    }
    turns += 1
    clients[id] = Client(address: address, turn: turns, owner: nil, heard: now)
    return replaced.map { .replaces($0) } ?? .enters
  }

  /// The oldest guest from the address with the most.
  private func oldestGuest() -> Int? {
    let guests = clients.filter { $0.value.owner == nil }
    var counts: [[UInt8]: Int] = [:]
    for guest in guests.values { counts[guest.address, default: 0] += 1 }
    let most = counts.values.max() ?? 0
    return guests.filter { counts[$0.value.address] == most }
      .min { $0.value.turn < $1.value.turn }?.key
  }

  /// A client's request was accepted.
  ///
  /// - Returns: whether there is a place for it, and who leaves for that.
  public mutating func accept(_ id: Int, owner: ExactText, now: UInt64) -> Entry {
    guard clients[id] != nil else { return .refused }
    var replaced: Int?
    if accepted >= limit - max(1, limit / 8) {
      guard let silent = longestSilent(for: owner, now) else { return .refused }
      left(silent)
      replaced = silent
    }
    if clients[id]?.owner == nil { accepted += 1 }
    clients[id]?.owner = owner
    return replaced.map { .replaces($0) } ?? .enters
  }

  /// The accepted request that has been silent for longest, among those of owners that have as many as this one or more.
  private func longestSilent(for owner: ExactText, _ now: UInt64) -> Int? {
    var counts: [ExactText: Int] = [:]
    for case let owner? in clients.values.map(\.owner) { counts[owner, default: 0] += 1 }
    let own = counts[owner] ?? 0
    let silent = clients.filter { _, client in
      guard let other = client.owner, let heard = client.heard else { return false }
      return now >= heard + Self.silence && counts[other] ?? 0 >= own
    }
    return silent.min {
      ($0.value.heard ?? 0, $0.value.turn) < ($1.value.heard ?? 0, $1.value.turn)
    }?.key
  }

  /// A byte came, or one of its answer went; or, with nil, the server does not read for a while.
  public mutating func heard(_ id: Int, at time: UInt64?) { clients[id]?.heard = time }

  /// A client's request was answered: it is a guest again, the youngest.
  public mutating func answered(_ id: Int, now: UInt64) {
    guard clients[id]?.owner != nil else { return }
    accepted -= 1
    turns += 1
    clients[id]?.owner = nil
    clients[id]?.turn = turns
    clients[id]?.heard = now
  }

  public mutating func left(_ id: Int) {
    if clients.removeValue(forKey: id)?.owner != nil { accepted -= 1 }
  }
}
