// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// The connections of one server, oldest first, and which of them have a request that is being answered.
///
/// A client that connects is always served: where there are many, the oldest that has no complete request
/// makes room. Half-open requests, however many and however slow, never block other clients. Used on
/// the server's thread alone.
final class OpenConnections {
  private struct Entry {
    let connection: OpaquePointer
    var isBusy = false
  }

  private var entries: [Entry] = []

  /// libmicrohttpd's limit.
  let limit: Int
  /// From so many on, each new connection ends an old one. libmicrohttpd accepts at most ten before it
  /// notices, so its own limit is never reached.
  private var comfortable: Int { limit - 16 }

  /// - Parameter limit: at least 32.
  init(limit: Int) { self.limit = limit }

  var count: Int { entries.count }

  /// What libmicrohttpd tells of a connection.
  func changed(_ connection: OpaquePointer, _ change: MHD_ConnectionNotificationCode) {
    switch change {
    case .CONNECTION_NOTIFY_STARTED: opened(connection)
    default: closed(connection)
    }
  }

  private func opened(_ connection: OpaquePointer) {
    if entries.count >= comfortable { makeRoom() }
    entries.append(Entry(connection: connection))
  }

  private func closed(_ connection: OpaquePointer) {
    entries.removeAll { $0.connection == connection }
  }

  /// A request is complete and is answered now; or its answer is done.
  func set(_ connection: OpaquePointer, isBusy: Bool) {
    guard let place = entries.firstIndex(where: { $0.connection == connection }) else { return }
    entries[place].isBusy = isBusy
  }

  private func makeRoom() {
    let place = entries.firstIndex { !$0.isBusy } ?? entries.startIndex
    // libmicrohttpd finds the end of its input, and closes. It is forgotten now, or it would be ended again.
    shutdown(martlet_http_socket(entries[place].connection), Int32(SHUT_RDWR))
    entries.remove(at: place)
  }
}
