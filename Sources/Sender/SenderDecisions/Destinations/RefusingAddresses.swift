// SPDX-License-Identifier: Apache-2.0

/// The addresses that refused an app, or a credential as a whole, since it was served last. An address that refuses
/// what another one accepts is at fault itself (in the field for an hour or so, every few weeks); only what every
/// address refuses is refused for good.
///
/// Of a refusal nothing is known but where it came from. As long as there is an address that has not refused, the push
/// finds out there.
struct RefusingAddresses: Sendable {
  /// Addresses that have to agree at most: behind APNs' name there are very many.
  static let most = 4
  /// Apps that are kept at most; the one that was refused first is forgotten first.
  private static let capacity = 64

  private struct Doubt: Sendable {
    /// nil: the credential, whatever the app.
    let app: UInt64?
    var addresses: [PeerAddress] = []
    /// It is not about the address.
    var isSettled = false
  }

  private var doubts: [Doubt] = []

  /// An address refused an app, or the credential: whether that says something about the address only, for now.
  ///
  /// - Parameters:
  ///   - isAgain: the push was to find out. Where it comes back to an address that is known, there was no better place.
  ///   - usable: the addresses that may be tried.
  mutating func refused(
    _ app: UInt64?, at address: PeerAddress, isAgain: Bool, usable: [PeerAddress]
  ) -> Bool {
    let place = doubts.firstIndex { $0.app == app } ?? begin(app)
    guard !doubts[place].isSettled else { return false }
    let isKnown = doubts[place].addresses.contains(address)
    if !isKnown { doubts[place].addresses.append(address) }
    let known = doubts[place].addresses
    let isOpen =
      !(isAgain && isKnown) && known.count < Self.most && usable.contains { !known.contains($0) }
    doubts[place].isSettled = !isOpen
    return isOpen
  }

  private mutating func begin(_ app: UInt64?) -> Int {
    if doubts.count == Self.capacity { doubts.removeFirst() }
    doubts.append(Doubt(app: app))
    return doubts.count - 1
  }

  /// True if the address has refused the app, or the credential.
  func contains(_ app: UInt64, at address: PeerAddress) -> Bool {
    doubts.contains { ($0.app == app || $0.app == nil) && $0.addresses.contains(address) }
  }

  /// The app, or anything at all with the credential, was served.
  mutating func served(_ app: UInt64?) {
    if !doubts.isEmpty { doubts.removeAll { $0.app == app } }
  }
}
